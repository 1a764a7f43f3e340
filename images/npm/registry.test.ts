import { createHash } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { NpmRegistry } from './registry.ts'

const CONTENT = Buffer.from('the bytes of an archive')
const ARCHIVE = {
  file: 'a-1.0.0.tgz',
  content: CONTENT,
  manifest: { name: 'a', version: '1.0.0', bin: { a: 'a.cjs' } },
}

it('describes a package, and gives the archive that it names', async () => {
  await using registry = await NpmRegistry.start([ARCHIVE], 'http://registry.invalid/')
  const described = await fetch(`${registry.url}a`)
  const tarball = `${registry.url}a-1.0.0.tgz`
  expect(await described.json()).toEqual({
    name: 'a',
    'dist-tags': { latest: '1.0.0' },
    versions: {
      '1.0.0': {
        name: 'a',
        version: '1.0.0',
        bin: { a: 'a.cjs' },
        dist: { tarball, integrity: `sha512-${createHash('sha512').update(CONTENT).digest('base64')}` },
      },
    },
  })
  expect(Buffer.from(await (await fetch(tarball)).arrayBuffer())).toEqual(CONTENT)
})

it('sends clients elsewhere for all other packages', async () => {
  await using registry = await NpmRegistry.start([ARCHIVE], 'http://registry.invalid/npm/')
  const { status, headers } = await fetch(`${registry.url}@scope%2fb`, { redirect: 'manual' })
  expect([status, headers.get('location')]).toEqual([307, 'http://registry.invalid/npm/@scope/b'])
})
