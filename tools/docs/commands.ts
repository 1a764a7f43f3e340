import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHART, runHelm } from '../../charts/tests/helm.ts'
import { allDocuments, codeBlocks, type Document, withoutBlocks } from './documents.ts'
import { ROOT } from './source-texts.ts'

/** A command in a document, which a reader may copy into a shell. */
export interface Command {
  readonly path: string
  readonly line: string
}

/** Programs whose arguments are not checked, because they need a cluster, a registry or a user. */
const ELSEWHERE = [
  'kubectl',
  'cosign',
  'curl',
  'export',
  'gh',
  'git',
  'open',
  'docker',
  'buildah',
  'kind',
  'bash',
  'for',
]

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

/** Returns the reason why a command cannot work. Undefined if no reason is found. The check needs no cluster. */
export function whyNot(line: string, withHelm: boolean): string | undefined {
  let folder = ROOT
  for (const part of line.split(/\s+(?:&&|\|\||\||;)\s+/)) {
    if (/^[A-Z_]+='[^']*'$/.test(part.trim())) continue
    const words = part.trim().split(/\s+/)
    while (/^[A-Z_][A-Z0-9_]*=/.test(words[0] ?? '')) words.shift()
    const [program = '', ...args] = words
    if (program === 'cd') {
      folder = join(folder, args[0] ?? '')
      if (!existsSync(folder)) return `there is no folder ${args[0]}`
      continue
    }
    const reason = whyNotOne(program, args, { folder, withHelm })
    if (reason !== undefined) return reason
  }
  return undefined
}

interface Surroundings {
  readonly folder: string
  readonly withHelm: boolean
}

function whyNotOne(program: string, args: readonly string[], { folder, withHelm }: Surroundings): string | undefined {
  if (program === 'npm') return whyNotNpm(args, folder)
  if (program === 'node' || program.endsWith('/node')) return missingFile(args, folder)
  // `npx` may run an archive that a user has created, which is not part of the repository.
  if (program === 'npx') {
    const asked = args.find((word) => !word.startsWith('-'))
    return asked?.endsWith('.tgz') ? undefined : missingProgram(asked)
  }
  if (program === 'helm') return withHelm ? whyNotHelm(args) : undefined
  if (ELSEWHERE.includes(program) || ['grep', 'sed', 'jq', 'rm', 'sha256sum'].includes(program)) return undefined
  if (/[<>]/.test(program)) return undefined
  const file = join(folder, program)
  // A program that `npm run build` creates may not exist yet, so it counts as known.
  if (/^(?:\.\/)?apps\/\w+\/dist\/csi-\w+$/.test(program) || existsSync(file)) return undefined
  return `unknown program ${program}`
}

const OF_NPM = ['ci', 'install', 'test', 'start', 'exec', 'pack']

function whyNotNpm(args: readonly string[], folder: string): string | undefined {
  const [verb = '', ...rest] = args
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts?: Record<string, string>
  }
  const implied = ['test', 'start'].includes(verb) ? verb : undefined
  const script = verb === 'run' ? rest.find((word) => !word.startsWith('-')) : implied
  if (script !== undefined) return script in scripts ? undefined : `there is no script ${script}`
  if (!OF_NPM.includes(verb)) return `npm has no ${verb}`
  if (verb !== 'exec') return undefined
  const [program, ...more] = rest.filter((word) => word !== '--')
  return program === 'node' ? missingFile(more, folder) : missingProgram(program)
}

function missingFile(args: readonly string[], folder: string): string | undefined {
  const file = args.find((word) => !word.startsWith('-'))
  return file === undefined || existsSync(join(folder, file)) ? undefined : `there is no file ${file}`
}

function missingProgram(program = ''): string | undefined {
  return existsSync(join(ROOT, 'node_modules/.bin', program)) ? undefined : `there is no program ${program}`
}

/** Returns the error of a helm command. An install or upgrade is replaced by `helm template` with the same values. */
function whyNotHelm(args: readonly string[]): string | undefined {
  const [verb = '', ...rest] = args
  if (!['install', 'upgrade', 'template', 'lint', 'show'].includes(verb)) return undefined
  const own = fromHere(rest.filter((word) => !['--install', '--create-namespace', '--wait'].includes(word)))
  // A command with placeholders, or with the values of an earlier command, cannot be tried.
  if (own.some((word) => /[<>]/.test(word) || word === '--reset-then-reuse-values')) return undefined
  const asked = verb === 'install' || verb === 'upgrade' ? ['template', ...own] : [verb, ...own]
  const { status, stderr } = runHelm(asked.map((word) => (existsSync(join(ROOT, word)) ? join(ROOT, word) : word)))
  return status === 0 ? undefined : stderr.trim()
}

/** Replaces the chart of a release by the chart of the repository, and a reader's values file by an example file. */
function fromHere(words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => {
    if (word === '--version' || words[at - 1] === '--version') return []
    const [, registry] = /^oci:\/\/(\S+)\/charts\/csi-sidecars$/.exec(word) ?? []
    if (registry !== undefined) return [CHART, '--set', `image.registry=${registry}`]
    const valuesFile = ['--values', '-f'].includes(words[at - 1] ?? '') && !word.includes('/')
    return valuesFile ? [join(CHART, 'examples', word)] : [word]
  })
}

/** Returns the manifests of a kustomization, by `kubectl kustomize`. Undefined without kubectl. */
export function kustomize(folder: string): string | undefined {
  const built = join(ROOT, '.cache/control-plane/bin/kubectl')
  const kubectl = existsSync(built) ? built : 'kubectl'
  const { status, stdout } = spawnSync(kubectl, ['kustomize', folder], { encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}
