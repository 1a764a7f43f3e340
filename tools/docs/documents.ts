import { globSync } from 'node:fs'
import { ROOT, readText } from './source-texts.ts'

/** A Markdown document of this repository with its whole text. */
export interface Document {
  /** The path from the root of the repository. */
  readonly path: string
  readonly text: string
}

const FOLDERS = [
  '*.md',
  '.changeset/README.md',
  'docs/**/*.md',
  'charts/**/*.md',
  'images/*.md',
  'tools/*/README.md',
  'testing/bench/*.md',
  'testing/e2e/**/*.md',
  '{apps,libs,desk,testing}/*/README.md',
]

/** A fenced block of code, or one line of an indented block. */
export interface CodeBlock {
  readonly language: string
  readonly text: string
}

/** Returns all Markdown documents of the repository. */
export function allDocuments(): readonly Document[] {
  const paths = FOLDERS.flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  const ourPaths = [...new Set(paths)].filter((path) => !path.includes('node_modules')).sort()
  return ourPaths.map((path) => ({ path, text: readText(path) }))
}

export function codeBlocks(text: string): readonly CodeBlock[] {
  const fenced = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }))
  const rest = withoutBlocks(text)
  const indented = [...rest.matchAll(/(?:^|\n\n)((?: {4}.*(?:\n|$))+)/g)].map(([, block = '']) => ({
    language: '',
    text: block.replace(/^ {4}/gm, ''),
  }))
  return [...fenced, ...indented]
}

/** Returns the text without its fenced blocks of code. */
export function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

/** Returns the text without its fenced blocks and its spans of code. */
export function prose(text: string): string {
  return withoutBlocks(text).replace(/`[^`\n]*`/g, '')
}
