import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { type Bundle, ROOT, readBundle, SIDECARS, type SidecarBundle, START } from './bundle.ts'
import { type DebianPackage, distribution, type Library, librariesOf, packagesOf } from './libraries.ts'
import { nodePackage, noticesOf } from './notices.ts'

/** The Docker name of the machine's architecture: an image is made on the architecture that it is for. */
export const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin
`
const GROUP = 'root:x:0:\nnonroot:x:65532:\n'
const NSSWITCH = 'hosts: files dns\n'

/** Fills a folder with what the Dockerfile copies. */
export function makeContext(folder: string, root = ROOT): void {
  rmSync(folder, { recursive: true, force: true })
  // Any user must be able to read it, and the same content be the same image.
  process.umask(0o022)
  makeNodeRoot(join(folder, `node-${ARCHITECTURE}`))
  for (const name of SIDECARS) makeSidecarRoot(join(folder, name), readBundle(name, root))
  copyFileSync(join(root, 'images/Dockerfile'), join(folder, 'Dockerfile'))
}

/** Node, its libraries, and the files that a C library expects. */
function makeNodeRoot(folder: string): void {
  const node = join(folder, 'bin/node')
  copy(process.execPath, node)
  execFileSync('strip', ['-s', node])
  const libraries = librariesOf(process.execPath)
  for (const { path } of libraries) copy(path, join(folder, path))
  write(join(folder, 'etc/passwd'), PASSWD)
  write(join(folder, 'etc/group'), GROUP)
  write(join(folder, 'etc/nsswitch.conf'), NSSWITCH)
  // Node's own list, so that the image does not depend on the machine that builds it.
  write(join(folder, 'etc/ssl/certs/ca-certificates.crt'), `${rootCertificates.join('\n')}\n`)
  copy(join(nodePackage(), 'LICENSE'), join(folder, 'usr/share/licenses/node/LICENSE'))
  describeLibraries(folder, libraries)
}

/** The records by which scanners find the libraries, and their licences. */
function describeLibraries(folder: string, libraries: readonly Library[]): void {
  write(join(folder, 'etc/os-release'), distribution().text)
  for (const one of packagesOf(libraries)) {
    write(join(folder, 'var/lib/dpkg/status.d', one.name), statusOf(one))
    const copyright = `/usr/share/doc/${one.name}/copyright`
    copy(copyright, join(folder, copyright))
  }
}

function statusOf({ name, version, architecture, source, sourceVersion }: DebianPackage): string {
  return `Package: ${name}
Status: install ok installed
Architecture: ${architecture}
Source: ${source} (${sourceVersion})
Version: ${version}
`
}

function makeSidecarRoot(folder: string, bundle: SidecarBundle): void {
  const { name } = bundle
  write(join(folder, name), startScript(bundle), 0o755)
  copy(bundle.file, join(folder, 'lib', `${name}.cjs`))
  copy(bundle.cache, join(folder, 'lib', `${name}.cache`))
  write(join(folder, 'usr/share/licenses', name, 'THIRD-PARTY-NOTICES'), noticesOf(bundle.packages))
  copy(join(ROOT, 'LICENSE'), join(folder, 'usr/share/licenses', name, 'LICENSE'))
}

/** The file that a manifest names as the command. Its first line has room for one flag; NODE_OPTIONS has the others. */
export function startScript({ flags: [first, ...others] }: Pick<Bundle, 'flags'>): string {
  const text = readFileSync(START, 'utf8')
  if (!text.includes(`'${others.join(' ')}'`)) throw new Error(`${START} does not set ${others.join(' ')}`)
  return `#!/bin/node ${first}\n${text}`
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

function write(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}
