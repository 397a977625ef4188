"""What is searched: units, postings and vectors, all rebuilt from the tables of the truth."""
