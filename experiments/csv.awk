# A line of CSV into f[1..n]: quotes may hold commas.
function split_csv(line, f,    n, quoted, k, c) {
    n = 1; f[1] = ""; quoted = 0
    for (k = 1; k <= length(line); k++) {
        c = substr(line, k, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) f[++n] = ""
        else f[n] = f[n] c
    }
    return n
}

function escape(words) { gsub(/&/, "\\&amp;", words); gsub(/</, "\\&lt;", words); return words }
