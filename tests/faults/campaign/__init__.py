"""The fault campaign: thousands of seeded faults on the real path, each judged by its verdict, its record and what it leaves."""
