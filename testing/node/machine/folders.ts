import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { KubernetesVersion } from '../command/options.ts'

export const ROOT = resolve(import.meta.dirname, '../../..')

const CACHE = join(ROOT, '.cache', 'node')

/** The folders of this clone. Everything except `state` survives the node. */
export const FOLDERS = {
  cache: CACHE,
  /** The programs that are the same for all versions of Kubernetes. */
  programs: join(CACHE, 'bin'),
  manifests: join(CACHE, 'manifests'),
  /** An OCI image layout with all images. */
  images: join(CACHE, 'images'),
  /** The storage of buildah while images are built. */
  buildStore: join(CACHE, 'build-store'),
  results: join(CACHE, 'results'),
  /** The state of the running node. */
  state: join(CACHE, 'state'),
} as const

export const programsOf = (version: KubernetesVersion): string => join(FOLDERS.programs, version)

/** The name of the node's cgroups. Clones of the repository have different names, so their nodes can run together. */
export const CGROUP = `csi-sidecars-node-${createHash('sha256').update(ROOT).digest('hex').slice(0, 8)}`
