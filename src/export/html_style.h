/* export/html_style.h - CSS of the HTML report. */
#ifndef EXPORT_HTML_STYLE_H
#define EXPORT_HTML_STYLE_H

#define HTML_STYLE                                                                                 \
	":root{color-scheme:light}"                                                                \
	"body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;background:#f6f7f9;margin:0}"      \
	"main{max-width:1280px;margin:0 auto;padding:24px}"                                        \
	"h1{font-size:24px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:18px;margin:32px 0 " \
	"8px}"                                                                                     \
	".sub{color:#57606a;margin:0 0 16px;overflow-wrap:anywhere}"                               \
	".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(180px,1fr));gap:12px}"  \
	".card,.box{background:#fff;border:1px solid #d9dee4;border-radius:8px;padding:12px 14px}" \
	".card b{display:block;font-size:21px;font-variant-numeric:tabular-nums}"                  \
	".card span{color:#57606a;font-size:13px}"                                                 \
	".warn{background:#fff8e1;border:1px solid #e3b341;border-radius:8px;padding:10px 14px;"   \
	"margin:12px 0}"                                                                           \
	"table{border-collapse:collapse;width:100%;background:#fff;font-size:13px}"                \
	"th,td{text-align:right;padding:5px 10px;border-bottom:1px solid #e6eaee;"                 \
	"font-variant-numeric:tabular-nums;white-space:nowrap;vertical-align:top}"                 \
	"th{background:#eef1f4;position:sticky;top:0}"                                             \
	"th:last-child,td:last-child{text-align:left;width:100%;white-space:normal;"               \
	"overflow-wrap:anywhere}"                                                                  \
	"details{font:12px/1.5 ui-monospace,Menlo,Consolas,monospace}summary{cursor:pointer}"      \
	"details ol{margin:4px 0 4px 24px;padding:0;color:#444c56}"                                \
	".own{font-weight:bold;color:#1b1f24}.scroll{overflow-x:auto}svg{display:block}"           \
	".legend{font-size:12px;color:#57606a}"

#endif
