// `npm run walk` runs the commands in the section "See it" of README.md, like a new user. They run in a copy of the
// last commit, without git history and without Go on the PATH. Each command must exit with 0 and print no warning.
// `npm run walk -- start` runs only the lines with the word `start`.
// The script runs on any Node.js, because a new user may have an old one.
import { execFileSync, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The pattern of warnings of npm, turbo and Node.js, which a new user must not see. Lower-case "warning" is no match,
 * because test names may contain it.
 */
const WARNING = /\bnpm (?:warn|WARN)\b|\bWARN(?:ING)?\b|\(node:\d+\)|\bEBADENGINE\b/
const LOG = 'walk.log'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const place = mkdtempSync(join(tmpdir(), 'walk-'))
const copy = join(place, 'csi-sidecars')
mkdirSync(copy)
execFileSync('sh', ['-c', 'git archive HEAD | tar -x -C "$0"', copy], { cwd: root })

const lines = linesOf(readFileSync(join(copy, 'README.md'), 'utf8'))
if (lines.length < 2) throw new Error(`README.md has ${lines.length} lines to see it by`)
let good = true
const [word = ''] = process.argv.slice(2)
for (const line of lines.filter((each) => each.includes(word))) good = (await walked(line)) && good
if (good) rmSync(place, { recursive: true })
else console.log(`what was said is in ${join(place, LOG)}`)
process.exitCode = good ? 0 : 1

/** Returns the npm commands in the section "See it" of README.md. */
function linesOf(text) {
  const section = text.split(/^## /m).find((part) => part.startsWith('See it\n')) ?? ''
  return [...section.matchAll(/^ {4}(npm .*?)(?:\s+#.*)?$/gm)].map(([, line]) => line)
}

async function walked(line) {
  const began = Date.now()
  // Each line of the README starts with `npm ci`, because a user may begin with any line.
  const { code, output } = await run(line)
  const warnings = output.split('\n').filter((each) => WARNING.test(each))
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`${code === 0 && warnings.length === 0 ? 'ok  ' : 'FAIL'} ${line} (${seconds} s)`)
  if (code !== 0) console.log(`  ended with ${code}:\n${output.split('\n').slice(-30).join('\n')}`)
  for (const warning of warnings.slice(0, 20)) console.log(`  ${warning}`)
  return code === 0 && warnings.length === 0
}

function run(line) {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !existsSync(join(folder, 'go')))
  const own = join(root, 'node_modules')
  const PATH = path.filter((folder) => !folder.startsWith(own)).join(delimiter)
  const { HOME, LANG, npm_config_cache } = process.env
  const env = { PATH, HOME, LANG, ...(npm_config_cache !== undefined && { npm_config_cache }) }
  const log = createWriteStream(join(place, LOG), { flags: 'a' })
  const child = spawn('sh', ['-c', line], { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      log.write(text)
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => log.end(() => resolve({ code, output })))
  })
}
