// Checks in a temporary repository that Biome refuses one example of each ban in biome.json. Without this check a ban
// could stop working unnoticed, for example after an update of Biome.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const inFunction = (statement) => `export function f(): void {\n  ${statement}\n}\n`
const value = (expression) => `export const x = ${expression}\n`

const TIME = ['Date.now()', 'new Date()', '[1].map(Date.now)', 'performance.now()', 'process.hrtime.bigint()']
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'globalThis.setTimeout'].map(
  (name) => `${name}(() => 1, 1)`,
)
const RANDOM = ['Math.random()', 'crypto.randomUUID()', 'crypto.getRandomValues(new Uint8Array(1))']
const ENDS = ['process.exit(1)', 'process.exitCode = 1', 'process.kill(1)', 'process.abort()', 'console.log(1)']

const IMPORTS = [
  "import { setTimeout } from 'node:timers/promises'\n\nexport const x = setTimeout\n",
  "import { randomUUID } from 'node:crypto'\n\nexport const x = randomUUID\n",
  "import { exit } from 'node:process'\n\nexport const x = exit\n",
  "import { x } from '@csi-sidecars/upper'\n\nexport const y = x\n",
  "import { x } from '../../upper/src/index.ts'\n\nexport const y = x\n",
  "import { x } from './fine-date'\n\nexport const y = x\n",
]
const TYPED = [
  `async function work(): Promise<void> {}\n\n${inFunction('work()')}`,
  "export function f(kind: 'a' | 'b'): number {\n  switch (kind) {\n    case 'a':\n      return 1\n  }\n  return 2\n}\n",
]

const REFUSED = [...[...TIME, ...TIMERS, ...RANDOM, 'AbortSignal.timeout(1)'].map(value), ...ENDS.map(inFunction)]
const FILES = new Map([
  ...[...REFUSED, ...IMPORTS, ...TYPED].map((text, at) => [`libs/lower/src/refused-${at}.ts`, { text, refused: true }]),
  // The bans apply to tests too.
  ...REFUSED.map((text, at) => [`libs/lower/src/refused-${at}.test.ts`, { text, refused: true }]),
  ['libs/lower/src/refused-byte-order.ts', { text: value('new Uint32Array(1)'), refused: true }],
  ['libs/lower/src/fine-date.ts', { text: value('new Date(5)') }],
  [
    'libs/base/src/clock.ts',
    { text: [...TIME, ...TIMERS].map((use, at) => `export const x${at} = ${use}\n`).join('') },
  ],
  ['libs/base/src/testing/fake-clock.ts', { text: value('setImmediate(() => 1)') }],
  ['apps/one/src/main.ts', { text: inFunction('process.exit(1)') }],
  ['apps/one/src/other.ts', { text: inFunction('process.exit(1)'), refused: true }],
  ['libs/upper/src/index.ts', { text: value('1') }],
])

const root = mkdtempSync(join(tmpdir(), 'check-lint-'))
try {
  for (const [file, { text }] of FILES) write(file, text)
  for (const folder of new Set([...FILES.keys()].map((file) => file.split('/src/')[0]))) {
    const name = `@csi-sidecars/${folder.split('/')[1]}`
    write(`${folder}/package.json`, JSON.stringify({ name, private: true, type: 'module' }))
  }
  cpSync('biome.json', join(root, 'biome.json'))
  cpSync('tools', join(root, 'tools'), { recursive: true })
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  report(refusedByBiome())
} finally {
  rmSync(root, { recursive: true })
}

function write(file, text) {
  mkdirSync(join(root, dirname(file)), { recursive: true })
  writeFileSync(join(root, file), text)
}

function refusedByBiome() {
  const options = ['--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '--error-on-warnings']
  const biome = resolve('node_modules/.bin/biome')
  const { stdout, stderr } = spawnSync(biome, ['lint', ...options, 'apps', 'libs', 'desk'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (!stdout.startsWith('{')) throw new Error(`biome did not answer: ${stdout}${stderr}`)
  const { diagnostics } = JSON.parse(stdout)
  return new Set(diagnostics.map(({ location }) => String(location.path.file ?? location.path)))
}

function report(refused) {
  for (const [file, { text, refused: expected = false }] of FILES) {
    if (refused.has(file) === expected) continue
    console.error(`lint ${expected ? 'lets pass' : 'refuses'} ${file}:\n${text}`)
    process.exitCode = 1
  }
}
