import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { allDocuments, type Document, prose, withoutBlocks } from './documents.ts'
import { ROOT } from './source-texts.ts'

/** Returns the broken links, such as `docs/a.md: b.md#c`. Of an http address, only the form is checked. */
export function brokenLinks(documents: readonly Document[] = allDocuments()): readonly string[] {
  return documents.flatMap(({ path, text }) =>
    linksIn(text).flatMap((link) => (leadsSomewhere(path, text, link) ? [] : `${path}: ${link}`)),
  )
}

export function linksIn(text: string): readonly string[] {
  // The text of each link is removed first, because it may contain code.
  const bare = prose(text.replace(/\[([^\]\n]*)\]\(/g, '[]('))
  return [...bare.matchAll(/\[\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
}

function leadsSomewhere(from: string, text: string, link: string): boolean {
  if (/^https?:/.test(link)) return URL.canParse(link)
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? join(ROOT, from) : join(ROOT, dirname(from), path)
  if (!existsSync(file)) return false
  if (anchor === undefined) return true
  if (path === '') return anchorsOf(text).has(anchor)
  return statSync(file).isFile() && anchorsOf(readFileSync(file, 'utf8')).has(anchor)
}

/** Returns the anchors of a document: its headings, as links name them, and its marks `<a id="...">`. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const bare = withoutBlocks(text)
  const headings = [...bare.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => slugOf(heading))
  const marks = [...bare.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return new Set([...headings, ...marks])
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}
