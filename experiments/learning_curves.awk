# Four panels of curves over epochs as SVG. After csv.awk. Input, separated by tabs: name, epoch, then the value of each panel;
# a name that comes again at the same epoch is another seed. A variable: class.

{
    if (!($1 in runs_of)) names[++name_count] = $1
    at = $1 SUBSEP $2
    seeds[at]++
    if (seeds[at] > runs_of[$1]) runs_of[$1] = seeds[at]
    if ($2 > last) last = $2
    for (p = 1; p <= 4; p++) {
        x = $(p + 2) + 0; c = at SUBSEP p
        sum[c] += x
        if (seeds[at] == 1 || x < least[c]) least[c] = x
        if (seeds[at] == 1 || x > most[c]) most[c] = x
        if (p <= 2 || x > 0) {
            if (!(p in low) || x < low[p]) low[p] = x
            if (!(p in high) || x > high[p]) high[p] = x
        }
    }
}

# Losses fall through powers of ten; accuracies have an even axis.
function log10(x) { return log(x) / log(10) }
function height_of(p, x) {
    if (p > 2) x = x > 0 && log10(x) > bottom[p] ? log10(x) : bottom[p]
    return top[p] + 150 * (1 - (x - bottom[p]) / (ceiling[p] - bottom[p]))
}
function across(p, epoch) { return left[p] + 290 * (last > 1 ? (epoch - 1) / (last - 1) : 0) }
function floor(x) { return x < int(x) ? int(x) - 1 : int(x) }

# Epochs that every seed of the name has reached, from the first one on.
function reached(name,    e) {
    for (e = 1; seeds[name, e] == runs_of[name]; e++) continue
    return e - 1
}

function line_of(p, name,    e, path) {
    for (e = 1; e <= reached(name); e++)
        path = path sprintf("%s%.1f %.1f", e > 1 ? "L" : "M", across(p, e), height_of(p, sum[name, e, p] / seeds[name, e]))
    return path
}
function band_of(p, name,    e, path) {
    for (e = 1; e <= reached(name); e++) path = path sprintf("%s%.1f %.1f", e > 1 ? "L" : "M", across(p, e), height_of(p, most[name, e, p]))
    for (e = reached(name); e >= 1; e--) path = path sprintf("L%.1f %.1f", across(p, e), height_of(p, least[name, e, p]))
    return path "Z"
}

function axes(p,    k, value, words) {
    printf "<text x=\"%d\" y=\"%d\" font-weight=\"600\">%s</text>\n", left[p], top[p] - 10, title[p]
    for (k = 0; k <= steps[p]; k++) {
        value = bottom[p] + k * (ceiling[p] - bottom[p]) / steps[p]
        words = p > 2 ? sprintf("%g", 10 ^ value) : sprintf("%g", value)
        value = p > 2 ? 10 ^ value : value
        printf "<path class=\"grid\" d=\"M%d %.1fh290\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left[p], height_of(p, value), left[p] - 6, height_of(p, value) + 4, words
    }
    for (k = 0; k <= last; k += last > 12 ? 5 : 1)
        if (k) printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", across(p, k), top[p] + 166, k
}

# The axis of a panel: whole powers of ten, or percent from a round number below the lowest up to 100.
function scale(p,    span) {
    if (p > 2) {
        if (!(p in low)) low[p] = high[p] = 1
        bottom[p] = floor(log10(low[p])); ceiling[p] = -floor(-log10(high[p]))
        if (ceiling[p] == bottom[p]) ceiling[p]++
        steps[p] = ceiling[p] - bottom[p]
    } else {
        bottom[p] = low[p] < 100 ? 20 * floor(low[p] / 20) : 80; ceiling[p] = 100
        span = ceiling[p] - bottom[p]
        steps[p] = span / (span > 50 ? 20 : span > 20 ? 10 : 5)
    }
}

function legend(    m, x, y) {
    for (m = 1; m <= name_count; m++) {
        x = 50 + (m - 1) % 3 * 220; y = 460 + 18 * int((m - 1) / 3)
        printf "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%d %dh20\"/>", colour_of(m), x, y - 4
        printf "<text x=\"%d\" y=\"%d\">%s (%d seed%s)</text>\n", x + 26, y, escape(names[m]), runs_of[names[m]], (runs_of[names[m]] > 1 ? "s" : "")
    }
}

function colour_of(m) { return colours[(m - 1) % 8 + 1] }

END {
    split("#c4581a #2a7fc9 #3f9150 #8d5fb8 #8a8a8a #bd9b00 #00968a #c2185b", colours, " ")
    title[1] = "Test accuracy (%), all classes"
    title[2] = "Test accuracy (%), class " escape(class)
    title[3] = "Training loss, mean"
    title[4] = "Training loss, standard deviation"
    tall = 450 + 18 * int((name_count + 2) / 3)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"700\" height=\"%d\" viewBox=\"0 0 700 %d\" font-family=\"sans-serif\" font-size=\"11\">\n", tall, tall
    printf "<style>.page{fill:#fff}text{fill:#222}.grid{stroke:#ddd}"
    print "@media(prefers-color-scheme:dark){.page{fill:#16181c}text{fill:#ddd}.grid{stroke:#3a3d44}}</style>"
    printf "<rect class=\"page\" width=\"700\" height=\"%d\"/>\n", tall
    for (p = 1; p <= 4; p++) {
        left[p] = 50 + (p - 1) % 2 * 350
        top[p] = 34 + (p > 2) * 220
        scale(p)
        axes(p)
        for (m = 1; m <= name_count; m++) {
            if (runs_of[names[m]] > 1) printf "<path fill=\"%s\" fill-opacity=\".18\" d=\"%s\"/>\n", colour_of(m), band_of(p, names[m])
            printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"%s\"><title>%s</title></path>\n", colour_of(m), line_of(p, names[m]), escape(names[m])
        }
    }
    print "<text x=\"350\" y=\"440\" text-anchor=\"middle\">epoch</text>"
    legend()
    print "</svg>"
}
