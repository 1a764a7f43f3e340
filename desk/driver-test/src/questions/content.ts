import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { BLOCK, ONE_NODE } from './setting.ts'

/** Reads and writes the content of a volume at a published path. There is one object for each volume mode. */
export interface VolumeContent {
  readonly kind: 'mount' | 'block'
  readonly capability: VolumeCapability
  readonly write: (path: string, text: string) => Promise<void>
  readonly read: (path: string) => Promise<string>
  /** Reports whether the device at the path has at least `bytes` bytes. Undefined for volumes with a file system. */
  readonly holds?: (path: string, bytes: bigint) => Promise<boolean>
}

const FILE = 'csi-devcluster-data'

/** The content of a volume with a file system: one file. */
export const FILES: VolumeContent = {
  kind: 'mount',
  capability: ONE_NODE,
  write: (path, text) => writeFile(join(path, FILE), text, { flush: true }),
  read: (path) => readFile(join(path, FILE), 'utf8'),
}

/** Devices are read and written in whole sectors of this many bytes. */
const SECTOR = 4096

/** The content of a volume of mode Block: its first bytes. */
export const BYTES: VolumeContent = {
  kind: 'block',
  capability: BLOCK,
  write: (path, text) =>
    withFile(path, 'r+', async (file) => {
      const sector = Buffer.alloc(SECTOR)
      sector.write(text)
      await file.write(sector, 0, SECTOR, 0)
      await file.sync()
    }),
  read: (path) =>
    withFile(path, 'r', async (file) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SECTOR), 0, SECTOR, 0)
      return buffer.toString('utf8', 0, bytesRead).replace(/\0+$/, '')
    }),
  holds: (path, bytes) =>
    withFile(path, 'r', async (file) => {
      const { bytesRead } = await file.read(Buffer.alloc(1), 0, 1, Number(bytes - 1n))
      return bytesRead === 1
    }),
}

async function withFile<T>(path: string, flags: 'r' | 'r+', work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags)
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
