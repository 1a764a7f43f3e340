import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT } from './bundle.ts'
import { readTarget } from './dockerfile.ts'
import { IMAGES } from './released.ts'

const FILE = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')
const VALUES = { TARGETARCH: 'amd64', VERSION: 'v1.2.3', REVISION: 'abc', SOURCE: 'https://example.com' }

it.each(IMAGES)('the Dockerfile says what is in the image $target', ({ repository, target, suffix }) => {
  const read = readTarget(FILE, target, VALUES)
  expect(read).toMatchObject({
    layers: ['node-amd64', repository],
    environment: ['MALLOC_ARENA_MAX=1', 'UV_USE_IO_URING=0'],
    entrypoint: [`/${repository}`],
    user: suffix === '' ? undefined : '65532:65532',
  })
  expect(read.labels).toMatchObject({
    revision: 'abc',
    'org.opencontainers.image.title': repository,
    'org.opencontainers.image.version': 'v1.2.3',
    'org.opencontainers.image.source': 'https://example.com',
  })
})

it.each([
  ['RUN rm -rf /', 'RUN rm -rf /: a release does not know this instruction'],
  ['COPY a /b', 'COPY a /b: only a folder can be copied, and only to /'],
  [`ENV A=${'$'}{B}`, `no ARG says what ${'$'}{B} is`],
  ['ARG B', 'ARG B has no value'],
  ['FROM other AS x', 'FROM other AS x: no stage before it has the name other'],
])('%s ends it', (line, message) => {
  expect(() => readTarget(`FROM scratch AS a\n${line}\n`, 'a', {})).toThrow(message)
})

it('a target that the Dockerfile does not have ends it', () => {
  expect(() => readTarget(FILE, 'none', VALUES)).toThrow('the Dockerfile has no target none')
})
