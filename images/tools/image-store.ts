import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ARCHITECTURE, makeContext } from './context.ts'
import { lackingForLibraries } from './libraries.ts'

/** What buildah says about an image. */
export interface ImageConfig {
  readonly os: string
  readonly architecture: string
  readonly config: {
    readonly User?: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd?: readonly string[]
    readonly ExposedPorts?: object
    readonly WorkingDir?: string
    readonly Labels: Readonly<Record<string, string>>
  }
  readonly rootfs: { readonly diff_ids: readonly string[] }
}

/** Why images cannot be made and run here; undefined where they can. */
export function lackingForImages(): string | undefined {
  if (spawnSync('buildah', ['--version']).status !== 0) return 'images are not tested: apt-get install buildah'
  if (process.getuid?.() !== 0) return 'images are not tested: only root can mount and run them'
  const lacking = lackingForLibraries()
  return lacking === undefined ? undefined : `images are not tested: ${lacking}`
}

/** Images built from the Dockerfile, in a store of their own that is removed with it. */
export class ImageStore implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'images-'))
  readonly context: string
  readonly #mounted: string[] = []

  /** With a context of its own, unless there is one. */
  constructor(context?: string) {
    this.context = context ?? join(this.folder, 'context')
    if (context === undefined) makeContext(this.context)
  }

  /** Builds a target of the Dockerfile; returns the id of the image, which is the digest of its configuration. */
  build(target: string, args: Readonly<Record<string, string>>): string {
    const buildArgs = Object.entries({ TARGETARCH: ARCHITECTURE, ...args }).flatMap(([key, value]) => [
      '--build-arg',
      `${key}=${value}`,
    ])
    const options = [
      '--isolation',
      'chroot',
      '--timestamp',
      '0',
      '--layers',
      '--quiet',
      '--target',
      target,
      ...buildArgs,
    ]
    return (
      this.#buildah('bud', ...options, '-t', target, this.context)
        .split('\n')
        .at(-1) ?? ''
    )
  }

  inspect(image: string): ImageConfig {
    const { OCIv1 } = JSON.parse(this.#buildah('inspect', '--type', 'image', image)) as { OCIv1: ImageConfig }
    return OCIv1
  }

  /** Where the image's files lie, unpacked. */
  unpack(image: string): string {
    const container = this.#buildah('from', '--pull-never', image)
    this.#mounted.push(container)
    return this.#buildah('mount', container)
  }

  [Symbol.dispose](): void {
    for (const container of this.#mounted) this.#buildah('umount', container)
    rmSync(this.folder, { recursive: true, force: true })
  }

  #buildah(command: string, ...args: readonly string[]): string {
    const store = [
      '--root',
      join(this.folder, 'root'),
      '--runroot',
      join(this.folder, 'run'),
      '--storage-driver',
      'vfs',
    ]
    return execFileSync('buildah', [...store, command, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  }
}

const CONTAINER = `
  mkdir -p "$1/proc" "$1/run/shared"
  mount --bind "$1" "$1"
  mount -t proc proc "$1/proc"
  mount --bind "$2" "$1/run/shared"
  mount -o remount,bind,ro "$1/run/shared"
  mount -o remount,bind,ro "$1"
  root=$1 user=$3
  shift 3
  cd "$root"
  exec chroot --userspec="$user" "$root" "$@"`

/**
 * A command in an unpacked image much as a container runtime runs it: process 1 of its own, the root read-only and
 * nothing writable in it. `user` is `uid:gid`; any but root's has no capabilities. `shared` is mounted at /run/shared.
 */
export function containerCommand(
  root: string,
  { user, shared }: { readonly user: string; readonly shared: string },
  command: readonly string[],
): [string, ...string[]] {
  const isolated = ['--mount', '--pid', '--fork', '--kill-child']
  return ['unshare', ...isolated, 'sh', '-ec', CONTAINER, 'sh', root, shared, user, ...command]
}
