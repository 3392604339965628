/* hws help: explains verbs, and writes man pages and completions for shells from the same tables. */
#include "cli.h"
#include "options.h"
#include "verbs.h"

#include "hws.h"
#include "run/settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws help [VERB]\n"
    "       hws help --man [VERB]\n"
    "       hws help --complete bash|zsh|fish\n"
    "\n"
    "Explains a verb as hws VERB --help does, or writes the man page of hws or of a verb, or what a shell\n"
    "needs to complete verbs, options and files: source <(hws help --complete bash). make install puts\n"
    "them in place.\n"
    "\n";

static text out; /* of the form that is being described */
static const cli_entry *entry;

/* ---- the list ---------------------------------------------------------------------------------------------------- */

void cli_list_verbs(FILE *file) {
    fprintf(file, "hws " HWS_VERSION ": distributionally robust deep learning\n\nusage: hws VERB [options]\n\n");
    for (size_t k = 0; k < cli_entry_count(); k++) {
        const cli_entry *e = cli_entry_at(k);
        char name[32];
        snprintf(name, sizeof name, "%s%s%s", e->name, *e->argument ? " " : "", e->argument);
        if (e->summary) fprintf(file, "  %-15s %s\n", name, e->summary);
    }
    fprintf(file, "\nhws VERB --help explains a verb. hws --version prints the version.\n");
}

/* ---- man pages --------------------------------------------------------------------------------------------------- */

/* Nothing of it may be taken for a request of the formatter. */
static void add_roff(const char *words, size_t size) {
    for (size_t k = 0; k < size; k++) {
        const int begins = k == 0 || words[k - 1] == '\n';
        if (begins && (words[k] == '.' || words[k] == '\'')) text_add(&out, "\\&");
        if (words[k] == '\\') text_add(&out, "\\e");
        else if (words[k] == '-') text_add(&out, "\\-");
        else text_add_bytes(&out, words + k, 1);
    }
}

/* Without "usage: " and what stands below it. */
static void add_synopsis(const char *usage, size_t size) {
    enum { INDENT = 7 };
    text_add(&out, ".SH SYNOPSIS\n.nf\n");
    for (const char *at = usage, *end = usage + size; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((line ? line : end) - at), skipped = length > INDENT ? INDENT : 0;
        add_roff(at + skipped, length - skipped);
        text_add(&out, "\n");
        at += length + (line != NULL);
    }
    text_add(&out, ".fi\n");
}

static void add_verbatim(const char *heading, const char *words, size_t size) {
    while (size && (words[0] == '\n')) words++, size--;
    while (size && isspace((unsigned char)words[size - 1])) size--;
    if (!size) return;
    text_format(&out, ".SH %s\n.nf\n", heading);
    add_roff(words, size);
    text_add(&out, "\n.fi\n");
}

static void add_man_head(const char *title, const char *name, const char *summary) {
    text_format(&out, ".TH %s 1 \"\" \"hws %s\" \"User Commands\"\n.SH NAME\n%s \\- ", title, HWS_VERSION, name);
    add_roff(summary, strlen(summary));
    text_add(&out, "\n");
}

/* The first paragraph of a help is the usage. */
static void describe_man(const cli_verb *verb) {
    text help = {0};
    cli_help(verb, &help);
    const char *words = text_string(&help), *end = strstr(words, "\n\n");
    const size_t usage = end ? (size_t)(end - words) : strlen(words);
    add_synopsis(words, usage);
    add_verbatim("DESCRIPTION", words + usage, strlen(words) - usage);
    out.failed |= help.failed;
    text_close(&help);
}

static void write_man_of(const char *name) {
    char title[48], page[48];
    snprintf(page, sizeof page, "hws\\-%s", name);
    snprintf(title, sizeof title, "HWS-%s", name);
    for (char *at = title; *at; at++) *at = (char)toupper((unsigned char)*at);
    add_man_head(title, page, cli_entry_find(name)->summary);
    for (size_t k = 0; k < cli_entry_count(); k++)
        if (strcmp(cli_entry_at(k)->name, name) == 0) cli_entry_describe(cli_entry_at(k), describe_man);
    text_add(&out, ".SH SEE ALSO\n.BR hws (1)\n");
}

static void write_man(void) {
    add_man_head("HWS", "hws", "distributionally robust deep learning");
    text_add(&out, ".SH SYNOPSIS\n.B hws\n.I VERB\n[options]\n.SH VERBS\n");
    for (size_t k = 0; k < cli_entry_count(); k++) {
        const cli_entry *e = cli_entry_at(k);
        if (!e->summary) continue;
        text_format(&out, ".TP\n.B %s%s%s\n", e->name, *e->argument ? " " : "", e->argument);
        add_roff(e->summary, strlen(e->summary));
        text_format(&out, "; see\n.BR hws\\-%s (1)\n", e->name);
    }
    text_add(&out, ".SH EXIT STATUS\n0: done; 1: failed while running; 2: wrong usage or bad input.\n");
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

static int is_option(const cli_option *option) { return option->kind != OPTION_PARAGRAPH; }
static int takes_value(const cli_option *option) {
    return option->kind != OPTION_FLAG && option->kind != OPTION_OPTIONAL;
}

/* Up to the end of the line, for single quotes: in zsh within square brackets, in fish not. */
static void add_quoted(const char *words, int zsh) {
    for (; *words && *words != '\n'; words++) {
        if (*words == '\'' && zsh) text_add(&out, "'\\'");
        else if (strchr(zsh ? "[]\\" : "'\\", *words)) text_add(&out, "\\");
        text_add_bytes(&out, words, 1);
    }
}

/* The first line of an option's help; that of settings is in their own table. */
static void add_words(const cli_option *option, int zsh) {
    char key[64] = "";
    const char *help = option->help;
    for (size_t k = 2; !help && option->name[k] && k - 2 < sizeof key - 1; k++)
        key[k - 2] = option->name[k] == '-' ? '_' : option->name[k];
    if (!help && settings_find(key)) help = settings_find(key)->help;
    if (help) add_quoted(help, zsh);
}

static int is_first_form(size_t index) { return cli_entry_find(cli_entry_at(index)->name) == cli_entry_at(index); }

static void add_verbs(void) {
    for (size_t k = 0; k < cli_entry_count(); k++)
        if (is_first_form(k)) text_format(&out, " %s", cli_entry_at(k)->name);
}

/* What is explained, and not a file, stands behind this verb. */
static int takes_verbs(size_t index) { return strcmp(cli_entry_at(index)->name, "help") == 0; }

static void describe_bash(const cli_verb *verb) {
    for (size_t k = 0; k < verb->option_count; k++)
        if (is_option(&verb->options[k])) text_format(&out, " %s", verb->options[k].name);
}

static void describe_zsh(const cli_verb *verb) {
    for (size_t k = 0; k < verb->option_count; k++) {
        if (!is_option(&verb->options[k])) continue;
        text_format(&out, " \\\n      '%s[", verb->options[k].name);
        add_words(&verb->options[k], 1);
        text_add(&out, takes_value(&verb->options[k]) ? "]:value:_files'" : "]'");
    }
}

static void describe_fish(const cli_verb *verb) {
    for (size_t k = 0; k < verb->option_count; k++) {
        if (!is_option(&verb->options[k])) continue;
        text_format(&out, "complete -c hws -n '__fish_seen_subcommand_from %s' -l %s%s -d '", entry->name,
                    verb->options[k].name + 2, takes_value(&verb->options[k]) ? " -r" : "");
        add_words(&verb->options[k], 0);
        text_add(&out, "'\n");
    }
}

/* All forms of the verb at this index. */
static void describe_forms(size_t index, void (*describe)(const cli_verb *verb)) {
    for (size_t k = index; k < cli_entry_count(); k++) {
        entry = cli_entry_at(k);
        if (strcmp(entry->name, cli_entry_at(index)->name) == 0) cli_entry_describe(entry, describe);
    }
}

static void write_bash(void) {
    text_add(&out,
             "_hws() {\n    local word=${COMP_WORDS[COMP_CWORD]} words=\"\"\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        words=\"");
    add_verbs();
    text_add(&out, "\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (size_t k = 0; k < cli_entry_count(); k++) {
        if (!is_first_form(k)) continue;
        text_format(&out, "        %s) words=\"--help", cli_entry_at(k)->name);
        describe_forms(k, describe_bash);
        if (takes_verbs(k)) add_verbs();
        text_add(&out, "\" ;;\n");
    }
    text_add(&out, "        esac\n    fi\n    case ${COMP_WORDS[1]}:$COMP_CWORD:$word in\n"
                   "    *:1:* | help:* | *:*:-*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
                   "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n    esac\n}\n"
                   "complete -o filenames -F _hws hws\n");
}

static void write_zsh(void) {
    text_add(&out, "#compdef hws\n_hws() {\n  if (( CURRENT == 2 )); then\n    local -a verbs=(");
    for (size_t k = 0; k < cli_entry_count(); k++)
        if (is_first_form(k)) {
            text_format(&out, "\n      '%s:", cli_entry_at(k)->name);
            add_quoted(cli_entry_at(k)->summary, 1);
            text_add(&out, "'");
        }
    text_add(&out, "\n    )\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n"
                   "  (( CURRENT-- ))\n  case $verb in\n");
    for (size_t k = 0; k < cli_entry_count(); k++) {
        if (!is_first_form(k)) continue;
        text_format(&out, "    %s) _arguments '--help[explain it]'", cli_entry_at(k)->name);
        describe_forms(k, describe_zsh);
        text_add(&out, takes_verbs(k) ? " '*:verb:(" : " '*:file:_files");
        if (takes_verbs(k)) add_verbs(), text_add(&out, ")");
        text_add(&out, "' ;;\n");
    }
    text_add(&out, "  esac\n}\n_hws \"$@\"\n");
}

static void write_fish(void) {
    for (size_t k = 0; k < cli_entry_count(); k++) {
        if (!is_first_form(k)) continue;
        text_format(&out, "complete -c hws -f -n __fish_use_subcommand -a %s -d '", cli_entry_at(k)->name);
        add_quoted(cli_entry_at(k)->summary, 0);
        text_add(&out, "'\n");
        describe_forms(k, describe_fish);
        if (!takes_verbs(k)) continue;
        text_format(&out, "complete -c hws -f -n '__fish_seen_subcommand_from %s' -a '", cli_entry_at(k)->name);
        add_verbs();
        text_add(&out, "'\n");
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int complete(const char *shell) {
    if (strcmp(shell, "bash") == 0) return write_bash(), EXIT_DONE;
    if (strcmp(shell, "zsh") == 0) return write_zsh(), EXIT_DONE;
    if (strcmp(shell, "fish") == 0) return write_fish(), EXIT_DONE;
    return cli_error(EXIT_USAGE, "--complete %s is neither bash, zsh nor fish", shell);
}

static int finish(int code) {
    if (code == EXIT_DONE && out.failed) code = cli_error(EXIT_FAILED, "out of memory");
    if (code == EXIT_DONE) fputs(text_string(&out), stdout);
    text_close(&out);
    return code;
}

int verb_help(int count, char **arguments) {
    const char *word = NULL, *shell = NULL;
    int man = 0;
    const cli_option options[] = {
        CLI_FLAG("--man", &man, "the man page, for man -l -"),
        CLI_TEXT("--complete", "SHELL", &shell, "bash | zsh | fish", NULL),
    };
    const cli_verb verb = {"help", USAGE, options, sizeof options / sizeof *options, NULL, &word, 1};
    const int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (word && !cli_entry_find(word)) return cli_no_verb(word);
    if (shell) return finish(complete(shell));
    if (man && word) return write_man_of(word), finish(EXIT_DONE);
    if (man) return write_man(), finish(EXIT_DONE);
    if (!word) return cli_list_verbs(stdout), EXIT_DONE;
    char help[] = "--help", *more[] = {help};
    return cli_entry_find(word)->run(1, more);
}
