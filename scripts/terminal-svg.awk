# Pictures of a terminal, with their times, become one SVG that plays them; without animation it shows the last.
# Long waits are shortened.
#
# In: for each picture a line "\036MILLISECONDS", then its rows with escape sequences for colour (`tmux capture-pane -e`).
# Call with LC_ALL=C and -v columns=… -v rows=…

BEGIN {
    cell = 8.43; line = 19; margin = 16; top = 42; hold_ms = 4000; wait_max_ms = 2000; pictures = saved = 0
    split("#484f58 #ff7b72 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #d0d7de", plain, " ")
    split("#6e7681 #ffa198 #7ee787 #f2cc60 #a5d6ff #e2c5ff #b3f0ff #ffffff", bright, " ")
}
/^\036/ {
    time = substr($0, 2) + 0
    if (pictures && time - before > wait_max_ms) saved += time - before - wait_max_ms
    before = time
    at[++pictures] = time - saved
    row = 0
    next
}
{ if (++row <= rows) text[pictures, row] = $0 }

END {
    total = at[pictures] + hold_ms
    width = columns * cell + 2 * margin; height = rows * line + top + margin
    # What a row shows, from when until when. Each span of time is one animation, shared by its rows.
    for (row = 1; row <= rows; row++) {
        from = 1
        for (p = 2; p <= pictures + 1; p++) {
            if (p <= pictures && text[p, row] == text[from, row]) continue
            body = drawn(text[from, row], row)
            if (body != "") {
                span = (from == 1 ? 0 : from) "_" (p > pictures ? "end" : p)
                if (!(span in keys)) keys[span] = frames(span, from == 1 ? 0 : at[from], p > pictures ? total : at[p])
                is_last = p > pictures
                out = out sprintf("<text xml:space=\"preserve\" y=\"%d\" class=\"s%s\"%s>%s</text>\n", top + row * line - 5, span, is_last ? "" : " visibility=\"hidden\"", body)
            }
            from = p
        }
    }
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height
    print "<title>A terminal: descent do, from a sentence to the result in the files</title>"
    print "<style>\ntext{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d0d7de;white-space:pre}"
    for (span in keys) printf "%s", keys[span]
    print "@media (prefers-reduced-motion:reduce){text{animation:none!important}}\n</style>"
    printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", width, height
    printf "<g><circle cx=\"22\" cy=\"20\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"42\" cy=\"20\" r=\"6\" fill=\"#febc2e\"/><circle cx=\"62\" cy=\"20\" r=\"6\" fill=\"#28c840\"/></g>\n"
    printf "%s</svg>\n", out
}

function frames(span, from_ms, until_ms,    text) {
    if (from_ms == 0 && until_ms == total) return ""
    text = sprintf(".s%s{animation:k%s %.2fs step-end infinite}@keyframes k%s{", span, span, total / 1000, span)
    if (from_ms > 0) text = text "0%{visibility:hidden}"
    text = text sprintf("%.3f%%{visibility:visible}", from_ms * 100 / total)
    if (until_ms < total) text = text sprintf("%.3f%%{visibility:hidden}", until_ms * 100 / total)
    return text "}\n"
}

# A row as spans of one colour each, every span at its column.
function drawn(raw, row,    out, column, cut, codes, piece) {
    colour = ""; bold = dim = 0; column = 0; out = ""
    sub(/[ ]+$/, "", raw)
    while (raw != "") {
        cut = index(raw, "\033[")
        if (cut == 1) {
            raw = substr(raw, 3)
            match(raw, /^[0-9;]*/)
            codes = substr(raw, 1, RLENGTH)
            if (substr(raw, RLENGTH + 1, 1) == "m") style(codes)
            raw = substr(raw, RLENGTH + 2)
            continue
        }
        piece = cut ? substr(raw, 1, cut - 1) : raw
        raw = cut ? substr(raw, cut) : ""
        if (piece ~ /[^ ]/) out = out span_of(piece, column)
        column += width_of(piece)
    }
    return out
}

function span_of(piece, column,    lead) {
    match(piece, /^ */)
    lead = RLENGTH
    piece = substr(piece, lead + 1)
    sub(/ +$/, "", piece)
    wide = width_of(piece)
    gsub(/&/, "\\&amp;", piece); gsub(/</, "\\&lt;", piece); gsub(/>/, "\\&gt;", piece)
    return sprintf("<tspan x=\"%.2f\" textLength=\"%.2f\"%s%s%s>%s</tspan>", margin + (column + lead) * cell, wide * cell, colour == "" ? "" : " fill=\"" colour "\"", bold ? " font-weight=\"bold\"" : "", dim ? " opacity=\".6\"" : "", piece)
}

# Columns: the bytes that begin a character.
function width_of(piece,    copy) {
    copy = piece
    gsub(/[\200-\277]/, "", copy)
    return length(copy)
}

function style(codes,    list, n, i, code) {
    n = split(codes == "" ? "0" : codes, list, ";")
    for (i = 1; i <= n; i++) {
        code = list[i] + 0
        if (code == 0) { colour = ""; bold = dim = 0 }
        else if (code == 1) bold = 1
        else if (code == 2) dim = 1
        else if (code == 22) bold = dim = 0
        else if (code >= 30 && code <= 37) colour = plain[code - 29]
        else if (code >= 90 && code <= 97) colour = bright[code - 89]
        else if (code == 39) colour = ""
        else if (code == 38 && list[i + 1] == 5) { colour = indexed(list[i + 2] + 0); i += 2 }
        else if (code == 38 && list[i + 1] == 2) { colour = sprintf("#%02x%02x%02x", list[i + 2], list[i + 3], list[i + 4]); i += 4 }
    }
}

function indexed(n,    level) {
    if (n < 8) return plain[n + 1]
    if (n < 16) return bright[n - 7]
    if (n >= 232) { level = (n - 232) * 10 + 8; return sprintf("#%02x%02x%02x", level, level, level) }
    n -= 16
    return sprintf("#%02x%02x%02x", shade(int(n / 36)), shade(int(n / 6) % 6), shade(n % 6))
}
function shade(step) { return step ? 55 + step * 40 : 0 }
