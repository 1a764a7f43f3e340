// Looks for published fixes of what the checked-out release ships, moves those components and runs all gates:
//   npm exec -- node images/patch/patch.ts --node-advisories FOLDER
// FOLDER has the list of the Node.js project (vuln/core of nodejs/security-wg); npm's packages are looked up at OSV.
// Exit 0: nothing to do, or a fix is ready in the tree ($GITHUB_OUTPUT: ready=true). Exit 1: a gate is red, or there is an
// advisory that this cannot mend.
import { appendFileSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from '@csi-sidecars/testkit'
import { ROOT, readBundle, SIDECARS } from '../tools/bundle.ts'
import { type Advisory, type NodeEntry, nodeAdvisories, npmAdvisories, type OsvEntry } from './advisory.ts'
import { runPatch } from './run.ts'
import { applyMoves, redGate } from './tree.ts'

const OSV = 'https://api.osv.dev/v1/query'
const LIMIT = 60_000

const usage = 'npm exec -- node images/patch/patch.ts --node-advisories FOLDER'
const { values } = readArguments(usage, { options: { 'node-advisories': { type: 'string' } } })
const folder = values['node-advisories']
if (folder === undefined) throw new Error(`usage: ${usage}`)

const node = process.versions.node
const packages = new Map(SIDECARS.flatMap((name) => readBundle(name).packages.map((one) => [one.name, one.version])))
const entries = globSync('*.json', { cwd: folder }).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
if (entries.length === 0) throw new Error(`${folder} has no advisories`)
const single = entries.filter((entry): entry is NodeEntry => Array.isArray((entry as Partial<NodeEntry>).cve))
const ofPackages = await Promise.all([...packages].map(([name, version]) => askOsv(name, version)))

const outcome = runPatch({
  shipped: Object.fromEntries([['node', node], ...[...packages].map(([name, version]) => [`npm:${name}`, version])]),
  advisories: [...nodeAdvisories(single, node), ...ofPackages.flat()],
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

async function askOsv(name: string, version: string): Promise<readonly Advisory[]> {
  const body = JSON.stringify({ version, package: { name, ecosystem: 'npm' } })
  const answer = await fetch(OSV, { method: 'POST', body, signal: AbortSignal.timeout(LIMIT) })
  if (!answer.ok) throw new Error(`${OSV} answers ${answer.status} about ${name} ${version}`)
  const { vulns = [] } = (await answer.json()) as { readonly vulns?: readonly OsvEntry[] }
  return npmAdvisories(vulns, name)
}
