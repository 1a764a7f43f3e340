import { globSync } from 'node:fs'
import { basename, dirname, join, matchesGlob } from 'node:path'
import { type Document, withoutBlocks } from './documents.ts'
import { ROOT } from './source-texts.ts'

/** The pattern of paths that are not part of the repository, for example the output of a build. */
const MADE = /(?:^|\/)(?:dist|\.cache|node_modules|coverage)(?:\/|$)/
const FOLDERS = 'apps|libs|desk|testing|docs|charts|images|tools|proto|\\.github|\\.ci|\\.changeset'
/** The pattern of texts that mean a file or folder of the repository: `libs/x/src/y.ts`, `apps/*`, `y.ts`. */
const OF_THE_REPOSITORY = new RegExp(`^(?:(?:${FOLDERS})/[\\w.*{},/-]*|[\\w*./-]+\\.(?:m?ts|mjs|md|tpl|ya?ml))$`)

/** Returns the paths of all files and folders of the repository. */
function everything(): readonly string[] {
  const found = globSync('{*,.*/**,**/*}', {
    cwd: ROOT,
    exclude: (path) => MADE.test(path) || ['.git', '.turbo', 'gen'].includes(basename(path)),
  })
  return [...new Set(found)]
}

/** Returns the missing files and folders that documents name in code spans, such as `docs/a.md: libs/no.ts`. */
export function missingFiles(documents: readonly Document[], paths = everything()): readonly string[] {
  return documents.flatMap(({ path, text }) =>
    filesNamedIn(text)
      .filter((name) => !isThere(name, path, paths))
      .map((name) => `${path}: ${name}`),
  )
}

export function filesNamedIn(text: string): readonly string[] {
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span.replace(/\/$/, ''))
  return [...new Set(spans)].filter((span) => OF_THE_REPOSITORY.test(span) && !MADE.test(span))
}

/** Reports whether a named file exists, relative to the root, to the document's folder or to any folder. */
function isThere(name: string, from: string, paths: readonly string[]): boolean {
  const places = [name, join(dirname(from), name), join('**', name)]
  return paths.some((path) => places.some((place) => path === place || matchesGlob(path, place)))
}
