/** The page's one style sheet, inline, named by its hash in the content security policy. */
import { createHash } from 'node:crypto';

/** CSS text, exactly as it stands in the page. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--line:#e2e1dd;--text:#1f2328;--dim:#667076;--link:#0a5bb5;--ok:#1a7f37;--bad:#c62828;--warn:#9a6700;--code:#f4f3f0;--user:#2f6fd0;--assistant:#1a7f37;--system:#8250df;--tool:#9a6700}
@media (prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1c1f23;--line:#31363c;--text:#e3e6e8;--dim:#98a2a9;--link:#76b0f5;--ok:#56c271;--bad:#ff7b72;--warn:#e3b341;--code:#24282d;--user:#76b0f5;--assistant:#56c271;--system:#c297ff;--tool:#e3b341}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.35rem;margin:.2rem 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.02rem;margin:2.2rem 0 .6rem}
h3{font-size:.92rem;margin:1.1rem 0 .4rem;overflow-wrap:anywhere}
a{color:var(--link)}
p{margin:.5rem 0}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
pre{margin:.35rem 0;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;tab-size:2}
.bytes{background:var(--code);border-radius:5px;padding:.6rem .75rem;max-height:32rem;overflow:auto}
.dim{color:var(--dim)}.ok{color:var(--ok)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.crumbs{color:var(--dim);font-size:.86rem}
.message{background:var(--card);border:1px solid var(--line);border-left:3px solid var(--dim);border-radius:6px;margin:.6rem 0;padding:.55rem .85rem}
.message>header{font-weight:600;font-size:.86rem}
.message.user{border-left-color:var(--user)}.message.assistant{border-left-color:var(--assistant)}
.message.system,.message.developer{border-left-color:var(--system)}.message.tool{border-left-color:var(--tool)}
.message pre{font:inherit}
.message pre.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
.call{margin:.5rem 0 .2rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;overflow-wrap:anywhere}
th{font-weight:500;color:var(--dim);white-space:nowrap}
.list td,.list th{border-bottom:1px solid var(--line);padding:.4rem .8rem .4rem 0}
.list .short{white-space:nowrap}
.facts th{width:9.5rem}
.headers th{width:17rem;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.84em;white-space:normal;overflow-wrap:anywhere}
.headers td{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.84em}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--dim)}
.exchange{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.4rem .85rem .8rem;margin:.6rem 0}
.commands td:first-child{white-space:nowrap}
.commands code{background:var(--code);padding:.15rem .45rem;border-radius:4px;user-select:all;white-space:normal;overflow-wrap:anywhere}
.note{border:1px solid var(--line);border-left:3px solid var(--warn);background:var(--card);border-radius:6px;padding:.6rem .85rem;margin:1rem 0}
.note.bad{border-left-color:var(--bad);color:inherit}
.hidden-char{color:var(--bad);border:1px solid var(--line);border-radius:3px;padding:0 .15em;font-family:ui-monospace,monospace;font-size:.8em}
@media (max-width:40rem){.list .short{white-space:normal}.facts th,.headers th{width:auto}.commands td{display:block;white-space:normal}}
`;

/** Source expression of {@link STYLE} for `style-src`. */
export const STYLE_HASH: string = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
