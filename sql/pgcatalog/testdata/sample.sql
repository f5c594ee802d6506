-- The objects of the golden tests, for TestAgainstPostgreSQL: psql -f sample.sql in a fresh cluster of PostgreSQL 15.
create database csmsql;
\c csmsql
create table region (r_regionkey integer not null, r_name char(25) not null, r_comment varchar(152));
create table lineitem (l_orderkey bigint not null, l_quantity numeric(15,2) not null, l_shipdate date, l_comment varchar, l_ts timestamptz, l_flag boolean default true, l_d double precision, l_raw bytea, l_tags text[]);
create view big_region as select r_regionkey, r_name from region where r_regionkey > 2;
create schema sales;
create table sales.orders (id integer, note text);
