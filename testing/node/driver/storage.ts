import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { StoredSnapshot, StoredVolume, Volumes } from '@csi-sidecars/emulator'
import { writeWhole } from '../../../desk/driver-test/src/testing/whole-file.ts'
import type { Machine } from './machine.ts'

type Kind = 'volumes' | 'snapshots'
type Source = { readonly kind: Kind; readonly id: string }

/** The data of a new volume or snapshot: a copy, or nothing in a directory, or nothing in a file for a loop device. */
type Content = Source | 'directory' | 'file'

const RECORD = 'record'

/**
 * Volumes and snapshots in a folder. Each has a folder with its records and its data: a directory, or a sparse file for
 * a block volume.
 *
 * Guarantees: the folder of a volume appears when it is complete, and disappears in one step. So a killed process leaves
 * whole volumes and snapshots.
 */
export class Storage {
  readonly volumes: Volumes
  readonly machine: Machine
  readonly #folder: string

  constructor(folder: string, { volumes, machine }: { readonly volumes: Volumes; readonly machine: Machine }) {
    this.#folder = folder
    this.volumes = volumes
    this.machine = machine
  }

  /** Creates the folders, and removes the unfinished work of a killed process. */
  async open(): Promise<void> {
    for (const name of ['incoming', 'removed']) await rm(join(this.#folder, name), { recursive: true, force: true })
    for (const name of ['incoming', 'removed', 'volumes', 'snapshots'])
      await mkdir(join(this.#folder, name), { recursive: true })
  }

  /** Reads all records into memory. So a call that has failed half way leaves nothing there. */
  async read(): Promise<void> {
    const { snapshots } = this.volumes
    for (const objects of [this.volumes, snapshots]) for (const { id } of objects.all) objects.delete(id)
    const points = new Set((await this.machine.mounts()).map(({ point }) => point))
    for (const id of await this.#ids('volumes')) {
      const volume = await this.#record<StoredVolume>('volumes', id)
      // The mounts of a node that was killed end without a call.
      this.volumes.add({ ...volume, mounted: new Map([...volume.mounted].filter(([path]) => points.has(path))) })
    }
    for (const id of await this.#ids('snapshots')) {
      snapshots.add(await this.#record<StoredSnapshot>('snapshots', id))
    }
  }

  async has(kind: Kind, id: string): Promise<boolean> {
    return (await this.#ids(kind)).includes(id)
  }

  pathOf(kind: Kind, id: string, name = 'data'): string {
    return join(this.#folder, kind, id, name)
  }

  /** Reports whether the data is that of a block volume. */
  async isBlock(kind: Kind, id: string): Promise<boolean> {
    return (await stat(this.pathOf(kind, id))).isFile()
  }

  /** Returns the loop device of a block volume. Undefined if it has none. */
  deviceOf(id: string): Promise<string | undefined> {
    return this.machine.loopDeviceOf(`/volumes/${id}/data`)
  }

  /** Reports whether a volume is mounted anywhere or has a loop device, whatever its records say. */
  async isInUse(id: string): Promise<boolean> {
    const mounts = await this.machine.mounts()
    return mounts.some(({ root }) => root.endsWith(`/volumes/${id}/data`)) || (await this.deviceOf(id)) !== undefined
  }

  /** Stores a volume or a snapshot that is in memory, with a copy of other data or with empty data. */
  async create(kind: Kind, id: string, content: Content): Promise<void> {
    const incoming = join(this.#folder, 'incoming', id)
    const data = join(incoming, 'data')
    await mkdir(incoming)
    try {
      if (typeof content === 'object') await this.#copy(content, data)
      else if (content === 'file') await writeFile(data, '')
      // Pods run as any user, and not each pod has a group for its volumes.
      else await mkdir(data).then(() => chmod(data, 0o777))
      if (kind === 'snapshots') writeWhole(join(incoming, RECORD), serialize(this.volumes.snapshots.require(id)))
      else await this.save(id, incoming)
      await rename(incoming, join(this.#folder, kind, id))
    } catch (error) {
      await rm(incoming, { recursive: true, force: true })
      throw error
    }
  }

  /** Stores the record of a volume, and gives the data of a block volume the size in the record. */
  async save(id: string, folder = join(this.#folder, 'volumes', id)): Promise<void> {
    const volume = this.volumes.require(id)
    const data = await stat(join(folder, 'data'))
    if (data.isFile() && data.size < volume.capacityBytes)
      await truncate(join(folder, 'data'), Number(volume.capacityBytes))
    writeWhole(join(folder, RECORD), serialize(volume))
  }

  /** Removes the data for ever. The caller has checked that it is not in use. */
  async remove(kind: Kind, id: string): Promise<void> {
    const target = join(this.#folder, 'removed', id)
    await rename(join(this.#folder, kind, id), target)
    await rm(target, { recursive: true })
  }

  async #copy({ kind, id }: Source, to: string): Promise<void> {
    const device = kind === 'volumes' ? await this.deviceOf(id) : undefined
    if (device !== undefined) {
      // Writes to the device reach the file later.
      await using opened = await open(device, 'r+')
      await opened.sync()
    }
    await this.machine.run('cp', '--archive', '--sparse=always', '--reflink=auto', this.pathOf(kind, id), to)
  }

  async #record<T>(kind: Kind, id: string): Promise<T> {
    return deserialize(await readFile(this.pathOf(kind, id, RECORD))) as T
  }

  async #ids(kind: Kind): Promise<readonly string[]> {
    return (await readdir(join(this.#folder, kind))).toSorted()
  }
}
