import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf } from '@csi-sidecars/base'
import { build } from 'esbuild'
import { onPath } from '../../../charts/tests/helm.ts'
import { type FilesImage, ImageStore } from '../../../images/tools/image-store.ts'
import { cacheFolder } from '../../e2e/harness/programs/binaries.ts'
import type { DriverChoice, KubernetesVersion } from '../command/options.ts'
import { RefusedError } from '../command/refusal.ts'
import { FOLDERS, programsOf, ROOT } from '../machine/folders.ts'
import { SIDECAR_NAMES } from './image-names.ts'

const CONTEXT = join(ROOT, 'images', 'dist')
const MADE = join(FOLDERS.images, 'made.json')
const DRIVER_BUNDLE = join(FOLDERS.cache, 'driver.mjs')
const OURS = [...SIDECAR_NAMES, 'sidecars']

/** The programs of this machine that drivers run. busybox has others of these names that differ, or none. */
const TOOLS = [
  ...['mount', 'umount', 'losetup', 'blkid', 'mkfs.ext4', 'e2fsck', 'resize2fs', 'findmnt', 'lsblk', 'blockdev'],
  ...['fallocate', 'dd', 'tar', 'gzip', 'cp', 'bash'],
]

/** The pause container reaps nothing here: the kubelet shares no PID namespace between containers by default. */
const PAUSE = `#!/bin/sh\ntrap 'exit 0' TERM INT\nsleep infinity &\nwait\n`

/** An image, and a text that changes if the image must be built again. */
interface RequiredImage {
  readonly tag: string
  readonly inputs: string
  readonly make: (store: ImageStore) => void
}

/** Builds the missing and outdated images into the layout of the node's registry. */
export async function provideImages(
  version: KubernetesVersion,
  driver: DriverChoice,
  print: (line: string) => void,
): Promise<void> {
  if (!existsSync(join(CONTEXT, 'Dockerfile'))) throw new RefusedError('the sidecars are not built: npm run build')
  const required = [...ourImages(), ...testImages(version), ...(await driverImages(driver))]
  const made = existsSync(MADE) ? (JSON.parse(readFileSync(MADE, 'utf8')) as Record<string, string>) : {}
  const missing = required.filter(({ tag, inputs }) => made[tag] !== inputs)
  if (missing.length === 0) return
  if (onPath('buildah') === undefined) throw new RefusedError('there is no buildah: apt-get install buildah')
  print(`building images: ${missing.map(({ tag }) => tag).join(', ')}`)
  using store = new ImageStore(FOLDERS.buildStore)
  for (const { tag, inputs, make } of missing) {
    make(store)
    store.buildah('push', '--quiet', '--disable-compression', `localhost/${tag}`, `oci:${FOLDERS.images}:${tag}`)
    made[tag] = inputs
    writeFileSync(MADE, JSON.stringify(made))
  }
}

/** Our images, by the Dockerfile of this repository. Each build of the sidecars writes all files again. */
function ourImages(): readonly RequiredImage[] {
  const hash = createHash('sha256')
  for (const file of globSync('**', { cwd: CONTEXT }).sort()) {
    const path = join(CONTEXT, file)
    if (statSync(path).isFile()) hash.update(file).update(readFileSync(path))
  }
  const inputs = hash.digest('hex')
  return OURS.map((tag) => ({ tag, inputs, make: (store) => buildOurs(store, tag) }))
}

function buildOurs(store: ImageStore, tag: string): void {
  try {
    store.buildSidecar(tag, CONTEXT)
  } catch (error) {
    // The folder can be older than the Dockerfile, if the node was started without `npm run node`.
    throw new Error(`${messageOf(error)}: npm run build writes that folder again`)
  }
}

function testImages(version: KubernetesVersion): readonly RequiredImage[] {
  const shared = cacheFolder(ROOT)
  const busybox = busyboxFiles()
  const agnhost = join(programsOf(version), 'agnhost')
  return [
    ...SIDECAR_NAMES.map((name) => programImage(`go-${name}`, join(shared, `csi-${name}`))),
    programImage('snapshot-controller', join(shared, 'snapshot-controller')),
    filesImage('busybox', busybox),
    filesImage('pause', { ...busybox, scripts: { '/pause': PAUSE }, entrypoint: ['/pause'] }),
    filesImage(`agnhost-${version}`, {
      ...busybox,
      files: { ...busybox.files, '/agnhost': agnhost },
      links: { ...busybox.links, '/agnhost-2': 'agnhost' },
      entrypoint: ['/agnhost'],
    }),
    filesImage('tools', toolsImage([])),
  ]
}

/** The image of the driver, and of the registrar if the driver needs one. */
async function driverImages(driver: DriverChoice): Promise<readonly RequiredImage[]> {
  if (driver.kind === 'hostpath') {
    for (const file of [driver.file, driver.registrar]) {
      if (!existsSync(file)) throw new RefusedError(`${file} does not exist: build it from its repository`)
    }
    const tools = toolsImage(['/hostpathplugin'])
    const hostpath = { ...tools, files: { ...tools.files, '/hostpathplugin': driver.file } }
    const registrar = { files: { '/csi-node-driver-registrar': driver.registrar } }
    return [
      filesImage('hostpath', hostpath),
      filesImage('registrar', { ...registrar, entrypoint: ['/csi-node-driver-registrar'] }),
    ]
  }
  await bundle(join(import.meta.dirname, '../driver/main.ts'), DRIVER_BUNDLE)
  const tools = toolsImage(['/usr/bin/node', '/driver.mjs'])
  const image = { ...tools, files: { ...tools.files, '/usr/bin/node': process.execPath, '/driver.mjs': DRIVER_BUNDLE } }
  return [filesImage('driver', image)]
}

/** Bundles a program into a file. An equal file keeps its time, so that its image is not built again. */
async function bundle(entry: string, file: string): Promise<void> {
  // The CommonJS code of grpc-js needs `require`.
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
  const options = { bundle: true, format: 'esm', platform: 'node', banner: { js }, write: false } as const
  const { outputFiles } = await build({ entryPoints: [entry], ...options })
  const text = outputFiles.map((output) => output.text).join('')
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
}

function programImage(tag: string, file: string): RequiredImage {
  return filesImage(tag, { files: { [`/${basename(file)}`]: file }, entrypoint: [`/${basename(file)}`] })
}

function filesImage(tag: string, image: FilesImage): RequiredImage {
  const inputs = hashOf(Object.values(image.files), JSON.stringify(image))
  return { tag, inputs, make: (store) => store.commit(tag, image) }
}

function busyboxFiles(): FilesImage {
  const file = programPath('busybox', 'apt-get install busybox-static')
  const applets = execFileSync(file, ['--list'], { encoding: 'utf8' }).trim().split('\n')
  const links = applets.filter((name) => name !== 'busybox').map((name) => [`/bin/${name}`, 'busybox'])
  return {
    files: { '/bin/busybox': file },
    links: Object.fromEntries(links),
    scripts: { '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n', '/etc/group': 'root:x:0:\n' },
    folders: ['/tmp', '/var', '/mnt', '/root'],
    entrypoint: [],
  }
}

/** busybox with the real programs of this machine that drivers run. */
function toolsImage(entrypoint: readonly string[]): FilesImage {
  const busybox = busyboxFiles()
  const tools = TOOLS.map((name) => [`/usr/sbin/${name}`, programPath(name, 'install util-linux and e2fsprogs')])
  // The shell of busybox would run its own dd, which knows fewer flags, whatever the PATH says.
  const links = { ...busybox.links, '/bin/sh': '../usr/sbin/bash' }
  return { ...busybox, files: { ...busybox.files, ...Object.fromEntries(tools) }, links, entrypoint }
}

function programPath(name: string, remedy: string): string {
  const found = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'].map((folder) => join(folder, name)).find(existsSync)
  if (found === undefined) throw new RefusedError(`there is no ${name}: ${remedy}`)
  return realpathSync(found)
}

/** Returns a text that changes with the size or the time of a file. */
function hashOf(files: readonly string[], text = ''): string {
  const stats = [...files].sort().map((file) => {
    if (!existsSync(file)) throw new RefusedError(`${file} is missing: npm run node -- up builds it`)
    const { size, mtimeMs } = statSync(file)
    return `${file} ${size} ${mtimeMs}`
  })
  return createHash('sha256')
    .update(`${text}${stats.join('\n')}`)
    .digest('hex')
}
