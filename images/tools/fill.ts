// Replaces the repository name in documents, chart and manifests, for example in a fork:
//   node images/tools/fill.ts [OWNER/REPOSITORY]
// Without an argument, a GitHub workflow uses the name of its repository. Elsewhere, nothing changes.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const PATTERNS = [
  'package.json',
  '{README,SECURITY,CONTRIBUTING}.md',
  'docs/*.md',
  '{apps,desk}/*/README.md',
  'desk/kubectl-csi/krew.yaml',
  'charts/csi-sidecars/{Chart.yaml,README.md,values.yaml}',
  'images/vex.openvex.json',
  'images/docker-bake.hcl',
]

/** The name of a repository on GitHub: `owner/repository`. */
export type Home = `${string}/${string}`

/** Returns the repository that package.json names. The documents name the same repository. */
export function homeOf(root: string): Home {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { repository: string }
  return homeFrom(repository.replace(/^github:/, ''))
}

/** Returns the registry to which a repository's releases push images and charts. Registry names are lower case. */
export const registryOf = (home: Home): string => `ghcr.io/${ownerOf(home).toLowerCase()}`

export function withHome(text: string, from: Home, to: Home): string {
  const end = '(?![\\w-])'
  return text
    .replace(
      new RegExp(`(github:|github(?:usercontent)?\\\\?\\.com/|--repo )${from}${end}`, 'g'),
      (_, before: string) => before + to,
    )
    .replace(new RegExp(`(--signer-workflow )${from}/`, 'g'), (_, before: string) => `${before}${to}/`)
    .replace(new RegExp(`${registryOf(from).replace('.', '\\.')}${end}`, 'g'), registryOf(to))
}

export function fill(root: string, to: Home): void {
  const from = homeOf(root)
  for (const path of PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: root }))) {
    rewrite(join(root, path), (text) => withHome(text, from, to))
  }
}

export function rewrite(file: string, change: (text: string) => string): void {
  const before = readFileSync(file, 'utf8')
  const after = change(before)
  if (after !== before) writeFileSync(file, after)
}

function ownerOf(home: Home): string {
  return home.slice(0, home.indexOf('/'))
}

function homeFrom(text: string): Home {
  if (!/^[\w-]+\/[\w.-]+$/.test(text)) throw new Error(`${text} is no OWNER/REPOSITORY`)
  return text as Home
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '../..')
  fill(root, homeFrom(process.argv[2] ?? process.env['GITHUB_REPOSITORY'] ?? homeOf(root)))
}
