import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Bundle, PROGRAMS, type Program, ROOT, readBundle, readJson, START } from './bundle.ts'
import { faultOf } from './executable-check.ts'
import { type NodeOrigin, nodeOrigin, ownNodePackage } from './node-origin.ts'
import { noticesOf } from './notices.ts'
import { sbomOf } from './sbom.ts'

export const ARCHITECTURES = ['x64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]

export interface ExecutableOptions {
  readonly out: string
  readonly version: string
  readonly createdAt: number
}

/**
 * Writes, for each program, `<name>-<version>-linux-<architecture>` with its bill of materials, its licences, and the
 * checksums of all. One for another architecture than the machine's can be made here, but not run.
 */
export function makeExecutables(architectures: readonly Architecture[], options: ExecutableOptions): readonly string[] {
  mkdirSync(options.out, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'executables-'))
  try {
    const made = architectures.flatMap((architecture) => {
      const { node, origin } = strippedNode(architecture, work)
      return PROGRAMS.flatMap((name) => {
        const bundle = readBundle(name)
        const file = makeExecutable(bundle, { architecture, node, work, ...options })
        return [file, describeExecutable(bundle, { file, origin, ...options })]
      })
    })
    const files = [...made, ...PROGRAMS.map((name) => writeNotices(readBundle(name), options))]
    writeFileSync(join(options.out, 'SHA256SUMS'), checksums(options.out, files))
    return [...files, 'SHA256SUMS']
  } finally {
    rmSync(work, { recursive: true })
  }
}

interface MakeOptions extends ExecutableOptions {
  readonly architecture: Architecture
  readonly node: string
  readonly work: string
}

function makeExecutable(
  { name, file, cache, flags }: Bundle,
  { architecture, node, work, out, version }: MakeOptions,
): string {
  const made = executableName(name, version, architecture)
  const output = resolve(out, made)
  const config = join(work, `${made}.json`)
  // Its name becomes part of the executable, so it must not contain the build folder.
  const main = cache === undefined ? `${name}.cjs` : 'start-bundle.cjs'
  const code = cache === undefined ? withoutFirstLine(file) : readFileSync(START)
  writeFileSync(join(work, main), code)
  const settings = {
    main,
    executable: node,
    output,
    disableExperimentalSEAWarning: true,
    assets: cache === undefined ? {} : assetsOf({ file, cache }, architecture),
    execArgv: flags,
    execArgvExtension: 'none',
  }
  writeFileSync(config, JSON.stringify(settings))
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  execFileSync(process.execPath, ['--build-sea', config], { cwd: work, stdio: [...stdio] })
  const fault = faultOf(output, architecture, cache === undefined ? join(work, main) : file)
  if (fault !== undefined) throw new Error(`${output}: ${fault}`)
  chmodSync(output, 0o755)
  return made
}

export function executableName(name: Program, version: string, architecture: Architecture): string {
  return `${name}-${version}-linux-${architecture}`
}

/** A cache is for the architecture on which it was made: an executable for another starts without. */
function assetsOf({ file, cache }: { readonly file: string; readonly cache: string }, architecture: Architecture) {
  return { 'bundle.cjs': file, ...(architecture === process.arch && { 'bundle.cache': cache }) }
}

/** The line names the program that runs the file, and inside an executable nothing skips it. */
function withoutFirstLine(file: string): string {
  const text = readFileSync(file, 'utf8')
  if (!text.startsWith('#!')) throw new Error(`${file} has no line that names its program`)
  return text.slice(text.indexOf('\n') + 1)
}

interface DescribeOptions extends ExecutableOptions {
  /** The executable. */
  readonly file: string
  readonly origin: NodeOrigin
}

function describeExecutable(bundle: Bundle, { out, version, createdAt, file, origin }: DescribeOptions): string {
  const sbom = `${file}.spdx.json`
  const text = JSON.stringify(sbomOf({ bundle, version, createdAt, node: origin }), null, 2)
  writeFileSync(join(out, sbom), `${text}\n`)
  return sbom
}

function writeNotices(bundle: Bundle, { out, version }: ExecutableOptions): string {
  const notices = `${bundle.name}-${version}-THIRD-PARTY-NOTICES.txt`
  writeFileSync(join(out, notices), noticesOf(bundle.packages))
  return notices
}

function strippedNode(architecture: Architecture, work: string): { node: string; origin: NodeOrigin } {
  const node = join(work, `node-${architecture}`)
  const own = architecture === process.arch
  const from = own ? process.execPath : foreignNode(architecture, work)
  const origin = nodeOrigin(own ? ownNodePackage() : `node-linux-${architecture}`, from)
  copyFileSync(from, node)
  const strip =
    architecture === process.arch ? 'strip' : `${architecture === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu-strip`
  try {
    execFileSync(strip, ['-s', node])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    process.stdout.write(
      `${strip} is not installed: executables for ${architecture} keep their symbols and are larger\n`,
    )
  }
  return { node, origin }
}

/** npm installs the Node of its own machine only; the other is fetched, and must be what the lockfile says. */
function foreignNode(architecture: Architecture, work: string): string {
  const name = `node-linux-${architecture}`
  const lockfile = readJson<{ packages: Record<string, { version: string; integrity: string }> }>(
    join(ROOT, 'package-lock.json'),
  )
  const locked = lockfile.packages[`node_modules/${name}`]
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`)
  execFileSync('npm', ['pack', '--silent', `${name}@${locked.version}`, '--pack-destination', work], {
    stdio: 'ignore',
  })
  const archive = join(work, `${name}-${locked.version}.tgz`)
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (found !== locked.integrity) throw new Error(`${name} ${locked.version} is not what package-lock.json says`)
  const folder = join(work, name)
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', archive, '-C', folder, 'package/bin/node'])
  return join(folder, 'package/bin/node')
}

function checksums(folder: string, files: readonly string[]): string {
  const sum = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex')
  return files.map((file) => `${sum(file)}  ${file}\n`).join('')
}
