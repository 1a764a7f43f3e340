import { equal, match } from 'node:assert'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../harness/processes.ts'
import { check } from '../../harness/story.ts'

const root = resolve(import.meta.dirname, '../../..')
const runFile = promisify(execFile)
const NPM = ['--offline', '--yes', '--silent']

check(
  'npm package: the embedded cluster runs by npx from its archive, in an empty folder',
  'emulator',
  async (ground) => {
    const folder = join(ground.folder, 'package')
    await runFile(process.execPath, [join(root, 'images/tools/main.ts'), 'npm', `--out=${folder}`])
    const place = temporaryFolder('npx')
    const packed = await npm(ground.folder, 'pack', folder, '--json', '--silent')
    const [archive = ''] = packed.match(/[\w.-]+\.tgz/) ?? []
    copyFileSync(join(ground.folder, archive), join(place, archive))

    const story = await npm(place, 'exec', ...NPM, '--', `./${archive}`, '--exit')
    match(story, /All of it came true/)
    match(
      await npm(place, 'exec', ...NPM, '--', `./${archive}`, 'test', '--help'),
      /Usage: csi-devcluster test --driver/,
    )
    equal(readdirSync(place).join(), archive)
  },
)

/** With the Node that runs us before any other, and a cache of its own. */
async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const cache = join(temporaryFolder('npm-cache'), 'cache')
  mkdirSync(cache)
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, npm_config_cache: cache }
  const { stdout } = await runFile('npm', args, { cwd, env })
  return stdout
}
