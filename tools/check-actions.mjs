// Fails if a workflow uses another owner's action without a pinned commit, or without its version in a comment.
import { globSync, readFileSync } from 'node:fs'

const PINNED = /^[\w-]+\/[\w-]+(?:\/[\w-]+)*@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
for (const file of globSync('.github/{workflows,actions/*}/*.yml')) {
  for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const used = /^\s*(?:- )?uses: (.*)$/.exec(line)?.[1]
    if (used === undefined || used.startsWith('./') || PINNED.test(used)) continue
    console.log(`${file}:${at + 1}: ${used} is not pinned as owner/name@<commit> # v1.2.3`)
    process.exitCode = 1
  }
}
