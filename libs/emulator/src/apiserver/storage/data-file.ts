import { type BigIntStats, constants } from 'node:fs'
import { access, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { type Clock, messageOf, systemCodeOf } from '@csi-sidecars/base'
import { readSnapshot, type SavedObjects } from './snapshot.ts'
import { newUid } from './uid.ts'

/** A data file that cannot be used; the message names it. */
class DataFileError extends Error {
  override readonly name = 'DataFileError'
}

/** Objects may be Secrets. */
const MODE = 0o600

/**
 * The file that keeps the objects across runs. A save replaces the whole file, so a crash leaves the previous file. A
 * save fails if another program has changed the file since this process read or wrote it.
 */
export class DataFile {
  readonly #path: string
  readonly #clock: Clock
  #known: string | undefined
  #mode = MODE

  private constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
  }

  /** Reads it, undefined when there is none yet, and makes sure that it can be written: not only when it has to be. */
  static async open(path: string, clock: Clock): Promise<{ file: DataFile; snapshot: SavedObjects | undefined }> {
    try {
      const found = await statOf(path)
      const file = new DataFile(found === undefined ? path : await realpath(path), clock)
      const text = found === undefined ? '' : await file.#read(found)
      const snapshot = readSnapshot(text)
      await file.#probe()
      return { file, snapshot }
    } catch (error) {
      throw error instanceof DataFileError ? error : new DataFileError(`${path}: ${messageOf(error)}`, { cause: error })
    }
  }

  async write(text: string): Promise<void> {
    const fresh = this.#freshName()
    try {
      await writeFile(fresh, text, { flag: 'wx', mode: this.#mode })
      if (identityOf(await statOf(this.#path)) !== this.#known) throw new Error('another program has changed it')
      await rename(fresh, this.#path)
    } catch (error) {
      await rm(fresh, { force: true })
      throw this.#unwritable(error)
    }
    this.#known = identityOf(await statOf(this.#path))
  }

  async #read(found: BigIntStats): Promise<string> {
    this.#known = identityOf(found)
    this.#mode = Number(found.mode) & 0o777
    return await readFile(this.#path, 'utf8')
  }

  async #probe(): Promise<void> {
    try {
      if (this.#known !== undefined) await access(this.#path, constants.W_OK)
      const fresh = this.#freshName()
      await (await open(fresh, 'wx', MODE)).close()
      await rm(fresh)
    } catch (error) {
      throw this.#unwritable(error)
    }
  }

  /** Returns a unique path in the folder of the file, so that a rename can replace the file. */
  #freshName(): string {
    return `${this.#path}.${newUid(this.#clock, process.pid)}`
  }

  #unwritable(error: unknown): DataFileError {
    return new DataFileError(`${this.#path} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Changes with every change of a file. */
function identityOf(found: BigIntStats | undefined): string | undefined {
  return found && `${found.dev} ${found.ino} ${found.size} ${found.mtimeNs}`
}
