// What the Go originals and Kubernetes have changed since the versions that this project takes the place of:
//   npm run upstream                                       the newest of each project
//   npm run upstream -- --at external-attacher=v4.12.0     another version, or a folder with sources
//   npm run upstream -- --only kubernetes --out FILE       one project; the report in a file
//   npm run upstream -- --write                            what was found is what this project takes the place of
// Ends with 0: nothing has changed. 1: the report says what. 2: something could not be read.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { messageOf } from '@csi-sidecars/base'
import { readArguments } from '@csi-sidecars/command'
import { sectionOf } from './differences.ts'
import { type Facts, factsOf } from './facts.ts'
import { PROJECTS, type Project } from './projects.ts'

const CLAIMED = join(import.meta.dirname, 'claimed.json')
const { values } = readArguments(
  'npm run upstream -- [--at NAME=VERSION|FOLDER]... [--only NAME]... [--out FILE] [--write]',
  {
    options: {
      at: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: PROJECTS.map(({ name }) => name) },
      out: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  },
)
const at = new Map(values.at.map((each) => [each.split('=')[0], each.split('=')[1]]))
const unknown = [...at.keys(), ...values.only].find((name) => !PROJECTS.some((project) => project.name === name))
if (unknown !== undefined) throw new Error(`${unknown} is none of ${PROJECTS.map(({ name }) => name).join(', ')}`)

process.exitCode = main()

function main(): number {
  const claimed = JSON.parse(readFileSync(CLAIMED, 'utf8')) as Record<string, Facts>
  const sections: string[] = []
  let isUnread = false
  for (const project of PROJECTS.filter(({ name }) => values.only.includes(name))) {
    const before = claimed[project.name]
    try {
      const after = factsOf(project, sourceOf(project))
      if (values.write) claimed[project.name] = after
      else if (before === undefined) throw new Error(`${CLAIMED} has no ${project.name}: --write adds it`)
      else
        sections.push(
          ...[nextMajor(project), sectionOf(project.name, before, after)].filter((each) => each !== undefined),
        )
    } catch (error) {
      isUnread = true
      sections.push(`## ${project.name} could not be read\n\n${messageOf(error).trim()}\n`)
    }
  }
  if (values.write) writeFileSync(CLAIMED, `${JSON.stringify(claimed, null, 2)}\n`)
  const report = sections.join('\n')
  process.stdout.write(report === '' ? 'nothing has changed\n' : report)
  if (values.out !== undefined) writeFileSync(values.out, report)
  if (isUnread) return 2
  return report === '' ? 0 : 1
}

/** A folder that was named, or what Go downloads. */
function sourceOf({ name, module, major, newest }: Project): { version: string; folder: string } {
  const wanted = at.get(name) ?? newest
  if (existsSync(join(wanted, 'go.mod'))) return { version: wanted, folder: resolve(wanted) }
  const { Version, Dir } = downloaded(`${module}${major === undefined ? '' : `/v${major}`}@${wanted}`)
  return { version: Version, folder: Dir }
}

interface Downloaded {
  readonly Version: string
  readonly Dir: string
}

function downloaded(module: string): Downloaded {
  const options = { encoding: 'utf8', stdio: 'pipe' } as const
  try {
    return JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], options)) as Downloaded
  } catch (error) {
    const { stdout = '' } = error as { readonly stdout?: string }
    const { Error: why } = (stdout === '' ? {} : JSON.parse(stdout)) as { readonly Error?: string }
    throw why === undefined ? error : new Error(why)
  }
}

/** Another major version is another module, of which `latest` says nothing. */
function nextMajor({ name, module, major }: Project): string | undefined {
  if (major === undefined || at.has(name)) return undefined
  const next = `${module}/v${major + 1}@latest`
  const options = { encoding: 'utf8', stdio: 'pipe' } as const
  try {
    const version = execFileSync('go', ['list', '-m', '-f', '{{.Version}}', next], options).trim()
    return `## ${name} has a new major version: ${version}\n`
  } catch {
    // There is none.
    return undefined
  }
}
