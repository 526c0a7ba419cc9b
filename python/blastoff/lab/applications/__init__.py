"""Six applications, written from the published algorithms, each with a check on the CPU that works differently."""
