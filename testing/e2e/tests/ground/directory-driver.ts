import { deepStrictEqual as equal, match } from 'node:assert'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { exitOf, runToEnd, start, stop, temporaryFolder } from '../../harness/process/processes.ts'
import { goProgram } from '../../harness/programs/binaries.ts'
import { check } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { runProgram, sidecarArgs } from './devcluster.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const MAIN = join(ROOT, 'testing/node/driver/main.ts')

/** The driver mounts, which needs root on Linux. */
const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? check : () => undefined

const CSI_DRIVER = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: directory.csi.example
spec:
  podInfoOnMount: true
  fsGroupPolicy: File
  volumeLifecycleModes: [Persistent, Ephemeral]
`

const argsOf = (place: string): readonly string[] => [
  '--disable-warning=ExperimentalWarning',
  MAIN,
  `--endpoint=unix://${join(place, 'csi.sock')}`,
  '--node-id=n1',
  `--state-dir=${join(place, 'state')}`,
]

/** Fails if a volume, a snapshot, a mount or a loop device is left. */
function checkNothingIsLeft(place: string): void {
  const left = ['volumes', 'snapshots', 'incoming', 'removed'].flatMap((kind) =>
    readdirSync(join(place, 'state', kind)),
  )
  equal(left, [])
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const files = readdirSync('/sys/block')
    .map((name) => join('/sys/block', name, 'loop/backing_file'))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
  equal(
    [...mounts, ...files].filter((line) => line.includes(place)),
    [],
  )
}

asRoot(
  'driver of directories: the driver test finds nothing, and nothing is left',
  { target: 'emulator', within: 5 * 60_000, long: true },
  async ({ executables, folder }) => {
    const place = temporaryFolder('directories')
    const file = join(folder, 'csidriver.yaml')
    writeFileSync(file, CSI_DRIVER)
    const socket = `unix://${join(place, 'csi.sock')}`
    const { code, output } = await runProgram('driver-test', folder, [
      `--driver=${socket}`,
      `--node=${socket}`,
      `--csidriver=${file}`,
      `--driver-command=${process.execPath} ${argsOf(place).join(' ')}`,
      '--attributes=tier=gold',
      '--attributes=tier=silver',
      '--seed=1',
      '--seconds=6',
      ...sidecarArgs(executables),
    ])
    equal(code, 0, output)
    checkNothingIsLeft(place)
  },
)

for (const type of ['mount', 'block']) {
  asRoot(
    `driver of directories: csi-sanity passes with volumes of type ${type}`,
    { target: 'emulator' },
    async ({ folder }) => {
      const binary = goProgram(ROOT, 'csi-sanity')
      const place = temporaryFolder('directories')
      for (const name of ['target', 'staging']) mkdirSync(join(place, name))
      const driver = start(process.execPath, argsOf(place))
      const ended = exitOf(driver)
      await eventually('the socket of the driver', () => existsSync(join(place, 'csi.sock')), { within: 60_000 })
      const { code, output } = await runToEnd(binary, [
        `--csi.endpoint=unix://${join(place, 'csi.sock')}`,
        `--csi.mountdir=${join(place, 'target', 'mount')}`,
        `--csi.stagingdir=${join(place, 'staging', 'mount')}`,
        `--csi.testvolumeaccesstype=${type}`,
        '--ginkgo.no-color',
      ])
      writeFileSync(join(folder, 'csi-sanity.log'), output)
      await stop(driver)
      await ended
      equal(code, 0, output.slice(-3000))
      match(output, /Ran [1-9]\d* of \d+ Specs/)
      checkNothingIsLeft(place)
    },
  )
}
