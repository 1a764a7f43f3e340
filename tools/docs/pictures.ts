// npm exec -- node tools/docs/pictures.ts: makes docs/pictures/start.svg, a recording of `npm start` in a pseudo-terminal.
// Build first, and let the machine be idle: the times are what a reader sees.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './source-texts.ts'
import { type Chunk, terminalPicture, withoutLongWaits } from './terminal-picture.ts'

const LONGEST_WAIT_SECONDS = 1.5
const PROMPT = '\u001b[1m$ npm start\u001b[22m\n'

const chunks: Chunk[] = [{ at: 0, text: PROMPT }]
const command = 'stty cols 80 rows 26; exec npm start --silent -- --exit'
const env = { ...process.env, SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '' }
const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: ROOT, env })
const began = performance.now()
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  chunks.push({ at: 0.5 + (performance.now() - began) / 1000, text })
})
child.stdin.end()
const [code] = await once(child, 'close')
if (code !== 0) throw new Error(`npm start ended with ${code}:\n${chunks.map(({ text }) => text).join('')}`)
const title = 'A recording of npm start: the life of a volume, step by step, with who did it and when'
writeFileSync(
  join(ROOT, 'docs/pictures/start.svg'),
  terminalPicture(withoutLongWaits(chunks, LONGEST_WAIT_SECONDS), title),
)
