import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Builds images on this machine with buildah, without a registry. It needs root. */

const MIB = 1024 * 1024
const OPTIONS = ['--isolation', 'chroot', '--timestamp', '0', '--quiet']

/** An image of files of this machine. The shared libraries of its programs are added. */
export interface FilesImage {
  /** The path in the image, and the file on this machine. */
  readonly files: Readonly<Record<string, string>>
  /** The path in the image, and the target of the link. */
  readonly links?: Readonly<Record<string, string>>
  /** The path in the image, and the text of the executable file. */
  readonly scripts?: Readonly<Record<string, string>>
  readonly folders?: readonly string[]
  readonly entrypoint?: readonly string[]
}

/** A temporary store of images in a folder. Its disposal unmounts and removes the folder. */
export class ImageStore implements Disposable {
  readonly #folder: string
  #hasBases = false

  /** Replaces what another process has left in the folder. */
  constructor(folder: string) {
    removeImageStore(folder)
    mkdirSync(folder, { recursive: true })
    this.#folder = folder
  }

  /** Builds an image of files. */
  commit(tag: string, { files, links = {}, scripts = {}, folders = [], entrypoint = [] }: FilesImage): void {
    const root = join(this.#folder, 'context')
    const place = (path: string): string => {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      return join(root, path)
    }
    for (const folder of ['/', ...folders]) mkdirSync(join(root, folder), { recursive: true, mode: 0o755 })
    for (const [path, target] of Object.entries(links)) symlinkSync(target, place(path))
    for (const [path, text] of Object.entries(scripts)) writeFileSync(place(path), text, { mode: 0o755 })
    for (const [path, file] of Object.entries(files)) copyFileSync(file, place(path))
    for (const path of Object.values(files).flatMap(librariesOf)) copyFileSync(path, place(path))
    const file = join(this.#folder, 'Containerfile')
    const path = 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    writeFileSync(file, `FROM scratch\nCOPY . /\n${path}\nENTRYPOINT ${JSON.stringify(entrypoint)}\n`)
    this.buildah('bud', ...OPTIONS, '--file', file, '--tag', `localhost/${tag}`, root)
    rmSync(root, { recursive: true })
  }

  /**
   * Builds a target of our Dockerfile, with build arguments. Files of this machine replace the base images. Returns the
   * ID of the image, which is the digest of its configuration.
   */
  buildSidecar(target: string, context: string, buildArgs: Readonly<Record<string, string>> = {}): string {
    this.#provideBases()
    const args = Object.entries({ BASE: 'localhost/base', ...buildArgs }).map(([name, value]) => `${name}=${value}`)
    const [, node] = /^FROM (\S+) AS official$/m.exec(readFileSync(join(context, 'Dockerfile'), 'utf8')) ?? []
    const bases = ['--build-context', `${node}=container-image://localhost/node`]
    const buildArgOptions = args.flatMap((each) => ['--build-arg', each])
    const command = [
      '--layers',
      '--target',
      target,
      ...bases,
      ...buildArgOptions,
      '--tag',
      `localhost/${target}`,
      context,
    ]
    const lines = this.buildah('bud', ...OPTIONS, ...command).split('\n')
    return lines.at(-1) ?? ''
  }

  /** Runs a command of buildah in the store. Returns its output. Throws with the last line of its errors if it fails. */
  buildah(command: string, ...args: readonly string[]): string {
    const store = ['--root', join(this.#folder, 'root'), '--runroot', join(this.#folder, 'run')]
    const options = { encoding: 'utf8', maxBuffer: 64 * MIB } as const
    const { status, stdout, stderr, error } = spawnSync('buildah', [...store, command, ...args], options)
    if (error !== undefined) throw error
    if (status === 0) return stdout.trim()
    throw new Error(`buildah ${command} of ${args.at(-1)} has failed: ${stderr.trim().split('\n').at(-1)}`)
  }

  [Symbol.dispose](): void {
    removeImageStore(this.#folder)
  }

  #provideBases(): void {
    if (this.#hasBases) return
    const libraries = librariesOf(process.execPath).map((path) => [path, path] as const)
    // Like real base images, this image has links such as /bin. The Dockerfile must not overwrite them.
    const names = ['bin', 'lib', 'lib64']
    const usual = {
      folders: names.map((name) => `/usr/${name}`),
      links: Object.fromEntries(names.map((name) => [`/${name}`, `usr/${name}`])),
    }
    // The base image must lack libatomic, because the Dockerfile adds it.
    const files = Object.fromEntries(libraries.filter(([path]) => !path.includes('libatomic')))
    this.commit('base', { ...usual, files })
    this.commit('node', { ...usual, files: { ...Object.fromEntries(libraries), ...NODE_FILES } })
    this.#hasBases = true
  }
}

/** The files that the Dockerfile copies from the official Node.js image, with their paths on this machine. */
const NODE_FILES: Readonly<Record<string, string>> = {
  '/usr/local/bin/node': process.execPath,
  '/usr/local/LICENSE': join(process.execPath, '../../LICENSE'),
}

/** Removes a store, also that of a killed build: an overlay in it may be mounted. */
export function removeImageStore(folder: string): void {
  spawnSync('umount', ['--recursive', '--quiet', join(folder, 'root/overlay')])
  rmSync(folder, { recursive: true, force: true })
}

/** Returns the paths of the shared libraries of a file. A file that is no program has none. */
function librariesOf(file: string): readonly string[] {
  return spawnSync('ldd', [file], { encoding: 'utf8' }).stdout.match(/\/\S+(?= \(0x)/g) ?? []
}
