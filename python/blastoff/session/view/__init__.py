"""What sessions show: tables, bars, magics."""
