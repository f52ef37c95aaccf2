/* cli/cli.h - the commands. argv[0] is the name of the command; the result is the exit status. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

int cmd_cache(int argc, char **argv);
int cmd_analyze_size(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_export_heaptrack(int argc, char **argv);
int cmd_export_replay(int argc, char **argv);
int cmd_extract(int argc, char **argv);
int cmd_gather(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_postprocess(int argc, char **argv);
int cmd_repack(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_server(int argc, char **argv);
int cmd_squeeze(int argc, char **argv);
int cmd_strip(int argc, char **argv);
int cmd_top(int argc, char **argv);

#endif
