/* Tables of the terminal whose columns are as wide as what is in them. */
#ifndef HWS_CLI_COLUMNS_H
#define HWS_CLI_COLUMNS_H

/* Letters that a cell shows; the middle of a longer one is left out: "images/train_N_NOR...second-hospital.png". */
enum { CLI_CELL_MAX = 40 };

/* Makes columns wide enough for a row. `widths` begins with the least that each should have. */
void cli_widen(int *widths, const char *const *cells, int count);

/* Prints a row, each cell at the right of its column; without widths as CSV, uncut. */
void cli_print_row(const int *widths, const char *const *cells, int count);

#endif
