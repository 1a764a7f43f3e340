// Looks for published fixes of what the checked-out release ships, moves those components and runs all gates:
//   npm exec -- node images/patch/patch.ts --node-advisories FOLDER
// FOLDER has the list of the Node.js project (vuln/core of nodejs/security-wg); npm's packages are looked up at OSV.
// Exit 0: nothing to do, or a fix is ready in the tree ($GITHUB_OUTPUT: ready=true). Exit 1: a gate is red, or there is an
// advisory that this cannot mend.
import { appendFileSync } from 'node:fs'
import { readArguments } from '@csi-sidecars/command'
import { ROOT } from '../tools/bundle.ts'
import { readPublished } from './published.ts'
import { runPatch } from './run.ts'
import { applyMoves, redGate } from './tree.ts'

const usage = 'npm exec -- node images/patch/patch.ts --node-advisories FOLDER'
const { values } = readArguments(usage, { options: { 'node-advisories': { type: 'string' } } })
const folder = values['node-advisories']
if (folder === undefined) throw new Error(`usage: ${usage}`)

const published = await readPublished(folder)
const outcome = runPatch({
  ...published,
  apply: (moves) => applyMoves(ROOT, moves),
  redGate: () => redGate(ROOT),
  propose: (moves) => {
    const { GITHUB_OUTPUT } = process.env
    if (GITHUB_OUTPUT !== undefined) appendFileSync(GITHUB_OUTPUT, 'ready=true\n')
    for (const { component, from, to } of moves) process.stdout.write(`${component} ${from} -> ${to}\n`)
  },
})
for (const line of outcome.open) process.stderr.write(`${line}\n`)
if (outcome.kind === 'nothing' && outcome.open.length === 0) process.stdout.write('nothing to do\n')
if (outcome.kind === 'red') process.stderr.write(`no patch release: ${outcome.gate} fails with the fix\n`)
if (outcome.kind === 'red' || outcome.open.length > 0) process.exitCode = 1
