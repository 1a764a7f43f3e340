import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Example, exampleFile } from '../../charts/tests/helm.ts'
import { allDocuments, codeBlocks, type Document, withoutBlocks } from './documents.ts'
import { ROOT } from './source-texts.ts'

/** A command in a document, which a reader may copy into a shell. */
export interface Command {
  readonly path: string
  readonly line: string
}

/** Returns the commands of a document: the lines of shell blocks, and other code that begins with a known program. */
export function commandsIn({ path, text }: Document): readonly Command[] {
  const blocks = codeBlocks(text).filter(({ language, text: block }) =>
    language === ''
      ? /^(?:npm|npx|cd|node_modules\/|kubectl|helm|git) /.test(block)
      : ['sh', 'bash', 'shell'].includes(language),
  )
  const lines = blocks.flatMap((block) =>
    block.text
      .replace(/\s*\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, '').trim())
      .filter((line) => line !== '' && !line.startsWith('#')),
  )
  const spans = [...withoutBlocks(text).matchAll(/`((?:npm|npx|cd) [^`\n]+)`/g)].map(([, span = '']) => span)
  return [...lines, ...spans].map((line) => ({ path, line }))
}

export function allCommands(): readonly Command[] {
  return allDocuments().flatMap(commandsIn)
}

/** The commands of npm that need no script in package.json. */
const OF_NPM = ['ci', 'exec', 'install', 'pack']
/** The pattern of folders and files that a build or a reader creates. */
const CREATED = /(?:^|\/)(?:dist|\.cache)\//

/** Returns the folders, npm scripts, files and values files that a command names and that do not exist. */
export function missingIn(line: string): readonly string[] {
  const named = (pattern: RegExp): readonly string[] => [...line.matchAll(pattern)].map(([, name = '']) => name)
  const folder = join(ROOT, named(/(?:^|&& )cd (\S+)/g)[0] ?? '')
  if (!existsSync(folder)) return [folder]
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts?: object }
  const files = named(/(?:\bnode|\bjest|^bash) (?:-\S+ )*([\w./-]+\.\w+)/g).filter((file) => !CREATED.test(file))
  return [
    ...named(/\bnpm (?:run )?(?:-\S+ )*([\w-]+)/g).filter((name) => !(name in scripts || OF_NPM.includes(name))),
    ...files.filter((file) => !existsSync(join(folder, file))),
    ...named(/^helm .*--values (\w[\w-]*)\.yaml/g).filter((name) => !existsSync(exampleFile(name as Example))),
  ]
}
