import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { checkDataFolder } from './data-folder.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'data-'))
})
afterEach(() => rm(directory, { recursive: true }))

it('a folder for data is made, and what is in it stays', async () => {
  const folder = join(directory, 'new', 'data')
  await checkDataFolder(folder)
  await writeFile(join(folder, 'mine'), 'kept')
  await checkDataFolder(folder)
  expect(await readdir(folder)).toEqual(['mine'])
})

it('one that cannot be written is named', async () => {
  const file = join(directory, 'file')
  await writeFile(file, '')
  await expect(checkDataFolder(file)).rejects.toThrow(`--data ${file} cannot be written: ENOTDIR`)
  // Not even the administrator makes folders there.
  await expect(checkDataFolder('/proc/self/data')).rejects.toThrow('--data /proc/self/data cannot be written')
})
