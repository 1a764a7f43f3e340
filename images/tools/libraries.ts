import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync } from 'node:fs'

/** A shared library that Node needs, and the Debian package that it comes from. */
export interface Library {
  /** Where the loader looks for it: `/lib/x86_64-linux-gnu/libc.so.6`. */
  readonly path: string
  readonly package: DebianPackage
}

export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly architecture: string
  readonly source: string
  readonly sourceVersion: string
}

/** `debian`, `12`: what the libraries were built for. */
export interface Distribution {
  readonly id: string
  readonly version: string
  /** /etc/os-release as it is. */
  readonly text: string
}

/** A library as an image has it. */
export interface LibraryFile {
  readonly path: string
  /** The name of its Debian package. */
  readonly package: string
  readonly sha1: string
  readonly sha256: string
}

/** What an image has from Debian: for its bill of materials. */
export interface DebianParts {
  readonly distribution: Distribution
  readonly packages: readonly DebianPackage[]
  readonly files: readonly LibraryFile[]
}

export function debianParts(program: string): DebianParts {
  const libraries = librariesOf(program)
  const files = libraries.map(({ path, package: { name } }): LibraryFile => {
    const content = readFileSync(path)
    const sum = (algorithm: string): string => createHash(algorithm).update(content).digest('hex')
    return { path, package: name, sha1: sum('sha1'), sha256: sum('sha256') }
  })
  return { distribution: distribution(), packages: packagesOf(libraries), files }
}

/** Each package once. */
export function packagesOf(libraries: readonly Library[]): readonly DebianPackage[] {
  return [...new Map(libraries.map((library) => [library.package.name, library.package])).values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

const OS_RELEASE = '/etc/os-release'

/** Why the libraries cannot be collected here; undefined where they can. */
export function lackingForLibraries(): string | undefined {
  const lacking = [
    process.platform === 'linux' ? [] : ['Linux'],
    existsSync('/usr/bin/dpkg-query') ? [] : ['dpkg-query'],
  ].flat()
  return lacking.length === 0
    ? undefined
    : `the libraries of an image are taken from Debian or Ubuntu, here is no ${lacking}`
}

export function distribution(): Distribution {
  const text = readFileSync(OS_RELEASE, 'utf8')
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? ''
  return { id: field('ID'), version: field('VERSION_ID'), text }
}

/** Everything that the loader would load for a program, the loader included. */
export function librariesOf(program: string): readonly Library[] {
  const paths = execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? [])
  return paths.map((path) => ({ path, package: packageOf(path) }))
}

/** Debian's list knows a file by its old or by its new place, /lib or /usr/lib. */
function packageOf(path: string): DebianPackage {
  const real = realpathSync(path)
  const names = [path, real, `/usr${path}`, real.replace(/^\/usr/, '')]
  for (const name of names) {
    const owner = query(['--search', name])?.split(': ')[0]
    if (owner !== undefined) return describe(owner)
  }
  throw new Error(`no package owns ${path}`)
}

const FIELDS = ['Package', 'Version', 'Architecture', 'source:Package', 'source:Version']

function describe(owner: string): DebianPackage {
  const text = query(['--show', `--showformat=${FIELDS.map((field) => `\${${field}}`).join('\\t')}`, owner])
  const [name, version, architecture, source, sourceVersion] = text?.split('\t') ?? []
  if (!name || !version || !architecture || !source || !sourceVersion) throw new Error(`dpkg does not know ${owner}`)
  return { name, version, architecture, source, sourceVersion }
}

function query(args: readonly string[]): string | undefined {
  try {
    return execFileSync('dpkg-query', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    // Exit 1: nothing found.
    return undefined
  }
}
