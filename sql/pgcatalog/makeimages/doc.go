// Makeimages writes the images of package pgcatalog: databases of DuckDB's with PostgreSQL's functions and catalogs.
//
//	data/*.sql, *.tsv ──► pgcatalog.MakeFunctions, MakeCatalogs ──► DuckDB ──► images/*.duckdb.gz ──► nodes attach them
//
// "go generate ./sql/pgcatalog" runs it, after each change of what they are made of; its test is red until then. An
// image whose contents are what would be made stays as it is, because DuckDB numbers its files at random.
//
// # What it does not do
//
// It is no part of the program that users run.
package main
