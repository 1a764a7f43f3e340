import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { checkDataFolder } from './run.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'data-'))
})
afterEach(() => rm(directory, { recursive: true }))

it('the flag `--data` creates its folder, or keeps the content of an existing folder', async () => {
  const folder = join(directory, 'new', 'data')
  await checkDataFolder(folder)
  await writeFile(join(folder, 'mine'), 'kept')
  await checkDataFolder(folder)
  expect(await readdir(folder)).toEqual(['mine'])
})

it('a data folder that cannot be written causes an error with its path', async () => {
  const file = join(directory, 'file')
  await writeFile(file, '')
  await expect(checkDataFolder(file)).rejects.toThrow(`--data ${file} cannot be written: EEXIST`)
  // Even root cannot create folders in /proc.
  await expect(checkDataFolder('/proc/self/data')).rejects.toThrow('--data /proc/self/data cannot be written')
})
