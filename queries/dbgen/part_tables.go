package dbgen

import "strconv"

const (
	seedPartName         stream = 709314158  // one draw per colour: len(partColors)
	seedPartManufacturer stream = 1          // 1
	seedPartBrand        stream = 46831694   // 1
	seedPartType         stream = 1841581359 // 1
	seedPartSize         stream = 1193163244 // 1
	seedPartContainer    stream = 727633698  // 1
	seedPartComment      stream = 804159733  // 2

	// Four rows per part, hence four times the draws of one row.
	seedPartSuppQuantity stream = 1671059989 // 4
	seedPartSuppCost     stream = 1051288424 // 4
	seedPartSuppComment  stream = 1961692154 // 8

	// partNameWords is how many colours a part's name has.
	partNameWords = 5
	// manufacturers, and brands of each.
	manufacturerCount = 5
)

var (
	manufacturerDomain  = newSharedDomain(numbered("Manufacturer#", 1))
	brandDomain         = newSharedDomain(numbered("Brand#", 2))
	partTypeDomain      = newSharedDomain(partTypes)
	partContainerDomain = newSharedDomain(partContainers)

	partCommentLength     = newTextLength(14)
	partSuppCommentLength = newTextLength(124)

	partSize         = between(1, 50)
	partSuppQuantity = between(1, 9999)
	partSuppCost     = between(100, 100000)
)

// numbered returns tag1 … tag5, or with two digits tag11 … tag55.
func numbered(tag string, digits int) []string {
	names := []string{tag}
	for range digits {
		var longer []string
		for _, name := range names {
			for i := 1; i <= manufacturerCount; i++ {
				longer = append(longer, name+strconv.Itoa(i))
			}
		}
		names = longer
	}
	return names
}

func (g *Generator) writePart(w *batchWriter, first, count int64) {
	rows := int(count)
	addFixed(w, rows, func(keys []int64) { fillSequence(keys, first+1) })
	w.addStrings(partNames(rows, seedPartName.after(int64(len(partColors))*first)))
	w.addDrawnCategory(rows, seedPartManufacturer.after(first), manufacturerDomain)
	w.addCategory(rows, brandDomain, func(codes []uint8) { fillBrands(codes, first) })
	w.addDrawnCategory(rows, seedPartType.after(first), partTypeDomain)
	addDrawn[int32](w, rows, seedPartSize.after(first), partSize, 1)
	w.addDrawnCategory(rows, seedPartContainer.after(first), partContainerDomain)
	addFixed(w, rows, func(prices []int64) {
		for i := range prices {
			prices[i] = retailPrice(first + 1 + int64(i))
		}
	})
	w.addDrawnText(rows, seedPartComment.after(2*first), partCommentLength)
}

// fillBrands writes the codes of p_brand: a brand belongs to its manufacturer.
func fillBrands(codes []uint8, first int64) {
	manufacturers, brands := seedPartManufacturer.after(first), seedPartBrand.after(first)
	for i := range codes {
		manufacturers, brands = manufacturers.next(), brands.next()
		official := uniform(uint64(manufacturers), manufacturerCount)*manufacturerCount + uniform(uint64(brands), manufacturerCount)
		codes[i] = brandDomain.codes[official]
	}
}

// retailPrice returns p_retailprice in hundredths.
func retailPrice(partKey int64) int64 {
	key := uint64(partKey) // unsigned division by constants is cheaper
	return int64(90000 + key/10%20001 + key%1000*100)
}

// partNames makes names of five distinct colours: the first five places of a
// random permutation. The official generator permutes all colours, which is
// why the stream spends a draw for each.
func partNames(rows int, s stream) *packedStrings {
	var identity, order [92]uint8
	for i := range identity {
		identity[i] = uint8(i)
	}
	stride := powerOfMultiplier(int64(len(partColors)))
	result := newPackedStrings(rows, 33)
	for range rows {
		order = identity
		draw := s
		for i := range partNameWords {
			draw = draw.next()
			other := i + int(uniform(uint64(draw), uint64(len(partColors)-i)))
			order[i], order[other] = order[other], order[i]
			if i > 0 {
				result.bytes = append(result.bytes, ' ')
			}
			result.bytes = append(result.bytes, partColors[order[i]]...)
		}
		result.endString()
		s = stream(multiplyMod(uint64(s), stride))
	}
	return result
}

func (g *Generator) writePartSupp(w *batchWriter, first, count int64) {
	rows := int(count) * suppliersPerPart
	firstRow := first * suppliersPerPart
	addFixed(w, rows, func(keys []int64) {
		for i := range keys {
			keys[i] = first + 1 + int64(i)/suppliersPerPart
		}
	})
	suppliers := g.units[Supplier]
	addFixed(w, rows, func(keys []int64) {
		for i := range keys {
			keys[i] = supplierOfPart(first+1+int64(i)/suppliersPerPart, int64(i)%suppliersPerPart, suppliers)
		}
	})
	addDrawn[int64](w, rows, seedPartSuppQuantity.after(firstRow), partSuppQuantity, 1)
	addDrawn[int64](w, rows, seedPartSuppCost.after(firstRow), partSuppCost, 1)
	w.addDrawnText(rows, seedPartSuppComment.after(2*firstRow), partSuppCommentLength)
}

// supplierOfPart returns the key of one of a part's four suppliers (0 … 3).
func supplierOfPart(partKey, number, suppliers int64) int64 {
	stride := suppliers/suppliersPerPart + (partKey-1)/suppliers
	return (partKey+number*stride)%suppliers + 1
}
