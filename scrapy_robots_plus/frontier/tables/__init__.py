"""The requests of a job in the tables of its file, as long as all goes well."""
