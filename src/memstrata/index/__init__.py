"""What is searched: units with their terms and vectors, all rebuilt from the tables of the truth."""
