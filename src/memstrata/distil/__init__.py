"""From a cooled page to notes: read what is known, plan without touching anything, commit in one transaction."""
