import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FOLDERS } from '../machine/folders.ts'

const MIB = 1024 * 1024

/** An image of files of this machine. The shared libraries of its programs are added. */
export interface FilesImage {
  /** An image of the store to build on. Undefined: an empty image. */
  readonly from?: string
  /** The path in the image, and the file on this machine. */
  readonly files: Readonly<Record<string, string>>
  /** The path in the image, and the target of the link. */
  readonly links?: Readonly<Record<string, string>>
  /** The path in the image, and the text of the executable file. */
  readonly scripts?: Readonly<Record<string, string>>
  readonly folders?: readonly string[]
  readonly entrypoint: readonly string[]
}

/** A temporary store of images below the cache. Its disposal unmounts and removes it. */
export class ImageStore implements Disposable {
  readonly #folder = FOLDERS.buildStore

  constructor() {
    removeBuildStore()
    mkdirSync(this.#folder, { recursive: true })
  }

  /** Builds an image of files. */
  commit(tag: string, image: FilesImage): void {
    const root = join(this.#folder, 'context')
    rmSync(root, { recursive: true, force: true })
    const place = (path: string): string => {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      return join(root, path)
    }
    for (const folder of image.folders ?? []) mkdirSync(join(root, folder), { recursive: true, mode: 0o755 })
    for (const [path, target] of Object.entries(image.links ?? {})) symlinkSync(target, place(path))
    for (const [path, text] of Object.entries(image.scripts ?? {})) writeFileSync(place(path), text, { mode: 0o755 })
    const libraries = Object.values(image.files).flatMap(librariesOf)
    const files = [...Object.entries(image.files), ...libraries.map((path) => [path, path] as const)]
    for (const [path, file] of files) copyFileSync(file, place(path))
    const { from = 'scratch', entrypoint } = image
    const lines = [
      `FROM ${from === 'scratch' ? from : `localhost/${from}`}`,
      'COPY . /',
      'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      `ENTRYPOINT ${JSON.stringify(entrypoint)}`,
    ]
    const file = join(this.#folder, 'Containerfile')
    writeFileSync(file, `${lines.join('\n')}\n`)
    this.#buildah('bud', ...BUILD, '--file', file, '--tag', `localhost/${tag}`, root)
    rmSync(root, { recursive: true })
  }

  has(tag: string): boolean {
    return this.#buildah('images', '--format', '{{.Name}}').split('\n').includes(`localhost/${tag}`)
  }

  /** Builds a target of a Dockerfile in its context. `options` name the images that replace those of a registry. */
  build(target: string, context: string, options: readonly string[]): void {
    this.#buildah('bud', ...BUILD, '--layers', '--target', target, ...options, '--tag', `localhost/${target}`, context)
  }

  /** Stores an image in the layout of the node's registry. */
  save(tag: string): void {
    mkdirSync(FOLDERS.images, { recursive: true })
    this.#buildah('push', '--quiet', '--disable-compression', `localhost/${tag}`, `oci:${FOLDERS.images}:${tag}`)
  }

  [Symbol.dispose](): void {
    removeBuildStore()
  }

  #buildah(command: string, ...args: readonly string[]): string {
    const store = ['--root', join(this.#folder, 'root'), '--runroot', join(this.#folder, 'run')]
    return execFileSync('buildah', [...store, command, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * MIB,
    })
  }
}

const BUILD = ['--isolation', 'chroot', '--timestamp', '0', '--quiet']

/** Removes the store of a killed build, too. */
export function removeBuildStore(): void {
  spawnSync('umount', ['--recursive', '--quiet', join(FOLDERS.buildStore, 'root/overlay')])
  rmSync(FOLDERS.buildStore, { recursive: true, force: true })
}

/** Returns the paths of the shared libraries of a program. Empty for other files and for static programs. */
export function librariesOf(program: string): readonly string[] {
  return spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.match(/\/\S+(?= \(0x)/g) ?? []
}
