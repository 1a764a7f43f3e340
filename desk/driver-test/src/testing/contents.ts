import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type {
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeUnpublishVolumeRequest,
} from '@csi-sidecars/csi-proto'
import type { CsiDriver } from '@csi-sidecars/emulator'
import type { CheckName } from '../checks/checks.ts'
import type { EmulatedParts } from './direct-setting.ts'

/** The bugs that a test can add to the content of volumes, and the promise that each bug breaks. */
export const CONTENT_BUGS = {
  'data-forgotten': 'data',
  'data-stays-on-node': 'data',
  'block-forgotten': 'data',
  'block-too-short': 'capacity',
  'block-not-expanded': 'capacity',
  'clone-empty': 'data',
  'clone-shared': 'data',
  'clone-copied-again': 'data',
  'snapshot-follows-volume': 'data',
  'snapshot-taken-again': 'data',
  'reader-may-write': 'readOnly',
  'usage-with-old-size': 'usage',
  'mount-option-ignored': 'options',
  'group-ignored': 'options',
} as const satisfies Record<string, CheckName>
export type ContentBug = keyof typeof CONTENT_BUGS

/** Makes the content of a volume visible at a target path, as a mount does, and hides it again. */
export interface Placing {
  /** Shows the content at the target path. A second call with the same path is allowed. */
  publish(store: string, target: string, how: { readonly readonly: boolean; readonly options: readonly string[] }): void
  unpublish(target: string): void
}

interface ContentOptions {
  readonly folder: string
  readonly placing: Placing
  readonly bug: ContentBug | undefined
}

/** Lets an emulated driver store the content of its volumes, in the files and folders of `options.folder`. */
export function keepContents({ driver, nodes }: EmulatedParts, options: ContentOptions): void {
  const stores = new Stores(options)
  stores.copyAfterCalls(driver)
  for (const node of nodes) stores.serve(node)
}

const NONE = { snapshotId: '', sourceVolumeId: '' }

class Stores {
  readonly #options: ContentOptions
  /** The source volume of each snapshot. A driver with the bug restores this volume instead of the snapshot. */
  readonly #copied = new Map<string, string>()
  /** The source volume of each clone. A driver with the bug uses the content of the source for both. */
  readonly #shared = new Map<string, string>()

  constructor(options: ContentOptions) {
    this.#options = options
    mkdirSync(options.folder, { recursive: true })
  }

  /** Copies the content for clones and snapshots before the driver answers. */
  copyAfterCalls(driver: CsiDriver): void {
    driver.log.subscribe(({ method, code, request, response, end }) => {
      if (end === undefined || code !== 0) return
      if (method === 'CreateVolume') {
        const { volumeId = '' } = (response?.['volume'] ?? {}) as { volumeId?: string }
        this.#fill(volumeId, request['volumeContentSource'] as Source | undefined)
      }
      if (method === 'CreateSnapshot') {
        const { snapshotId, sourceVolumeId } = { ...NONE, ...(response?.['snapshot'] as Partial<typeof NONE>) }
        this.#copy(sourceVolumeId, snapshotId, this.#has('snapshot-taken-again'))
        if (this.#has('snapshot-follows-volume')) this.#copied.set(snapshotId, sourceVolumeId)
      }
      if (method === 'DeleteVolume') this.#remove(String(request['volumeId']))
      if (method === 'DeleteSnapshot') this.#remove(String(request['snapshotId']))
      if (method === 'ControllerExpandVolume' && !this.#has('block-not-expanded')) {
        this.#size(String(request['volumeId']), (response?.['capacityBytes'] ?? 0n) as bigint)
      }
    })
  }

  serve(node: CsiDriver): void {
    const { placing } = this.#options
    const { nodeId } = node.settings
    node.script('NodePublishVolume', (request: NodePublishVolumeRequest) => {
      const answer = node.usualAnswer<object, object>('NodePublishVolume', request)
      const { volumeId, targetPath, readonly, volumeCapability } = request
      const name = this.#nameOf(volumeId, nodeId)
      const use = volumeCapability?.accessType
      if (use?.$case === 'block') this.#makeDevice(name, node.volumes.require(volumeId).capacityBytes)
      else mkdirSync(this.#at(name), { recursive: true })
      const { mountFlags = [], volumeMountGroup = '' } = use?.$case === 'mount' ? use.value : {}
      if (volumeMountGroup !== '' && !this.#has('group-ignored')) give(this.#at(name), Number(volumeMountGroup))
      const options = this.#has('mount-option-ignored') ? [] : mountFlags
      placing.publish(this.#at(name), targetPath, { readonly: readonly && !this.#has('reader-may-write'), options })
      return answer
    })
    node.script('NodeUnpublishVolume', (request: NodeUnpublishVolumeRequest) => {
      const { volumeId, targetPath } = request
      if (targetPath !== '') placing.unpublish(targetPath)
      const answer = node.usualAnswer<object, object>('NodeUnpublishVolume', request)
      const path = this.#at(this.#nameOf(volumeId, nodeId))
      const device = existsSync(`${path}.device`)
      if (this.#has(device ? 'block-forgotten' : 'data-forgotten')) rmSync(path, { recursive: true, force: true })
      return answer
    })
    if (!this.#has('usage-with-old-size')) return
    node.script('NodeGetVolumeStats', (request: NodeGetVolumeStatsRequest) => {
      node.usualAnswer('NodeGetVolumeStats', request)
      return { usage: [{ total: 1024n ** 3n, used: 0n, available: 0n, unit: 1 }], volumeCondition: undefined }
    })
  }

  #has(bug: ContentBug): boolean {
    return this.#options.bug === bug
  }

  #at(name: string): string {
    return join(this.#options.folder, name)
  }

  #nameOf(volumeId: string, nodeId: string): string {
    if (this.#has('data-stays-on-node')) return `${volumeId}-${nodeId}`
    return this.#shared.get(volumeId) ?? volumeId
  }

  #makeDevice(name: string, bytes: bigint): void {
    writeFileSync(this.#at(name), '', { flag: 'a' })
    writeFileSync(`${this.#at(name)}.device`, '')
    const { size } = statSync(this.#at(name))
    if (size <= 4096) this.#size(name, this.#has('block-too-short') ? bytes / 2n : bytes)
  }

  #size(name: string, bytes: bigint): void {
    if (existsSync(`${this.#at(name)}.device`)) truncateSync(this.#at(name), Number(bytes))
  }

  #fill(volumeId: string, source: Source | undefined): void {
    const type = source?.type
    if (type?.$case === 'snapshot') {
      const { snapshotId } = type.value
      this.#copy(this.#copied.get(snapshotId) ?? snapshotId, volumeId)
    }
    if (type?.$case !== 'volume' || this.#has('clone-empty')) return
    const { volumeId: from } = type.value
    if (!this.#has('clone-shared')) this.#copy(from, volumeId, this.#has('clone-copied-again'))
    else this.#shared.set(volumeId, from)
  }

  /** Removes the content of a volume or snapshot, because a restarted driver may use the ID again. */
  #remove(id: string): void {
    if (id === '') return
    for (const name of readdirSync(this.#options.folder)) {
      if (name !== id && name !== `${id}.device` && !name.startsWith(`${id}-`)) continue
      rmSync(this.#at(name), { recursive: true, force: true })
    }
  }

  /** Copies a content unless the copy exists already. The last step is a rename, so a kill leaves no partial copy. */
  #copy(from: string, to: string, again = false): void {
    const [source, target] = [this.#at(from), this.#at(to)]
    if (!existsSync(source) || (existsSync(target) && !again)) return
    const device = existsSync(`${source}.device`)
    const copy = `${target}.new`
    rmSync(copy, { recursive: true, force: true })
    // Only the first bytes of a device are copied, because the rest is a hole of the sparse file.
    if (device) writeFileSync(copy, firstBytes(source))
    else cpSync(source, copy, { recursive: true, dereference: true })
    if (device) writeFileSync(`${target}.device`, '')
    rmSync(target, { recursive: true, force: true })
    renameSync(copy, target)
  }
}

function firstBytes(path: string): Buffer {
  const file = openSync(path, 'r')
  const bytes = Buffer.alloc(4096)
  readSync(file, bytes)
  closeSync(file)
  return bytes
}

/** Gives a folder to the group, with the setgid bit, so that new files belong to the group too. */
function give(path: string, gid: number): void {
  chownSync(path, statSync(path).uid, gid)
  chmodSync(path, 0o2770)
}

type Source = {
  readonly type?:
    | { readonly $case: 'volume'; readonly value: { readonly volumeId: string } }
    | { readonly $case: 'snapshot'; readonly value: { readonly snapshotId: string } }
}
