// Writes the code caches of all bundles with the Node.js of the image, because a Node.js accepts only its own caches.
'use strict'
const { execFileSync } = require('node:child_process')
const { readdirSync } = require('node:fs')
const { join } = require('node:path')

const FLAGS = [...require('./start-flags.json'), '--hash-seed=1', '--no-sparkplug']

for (const name of readdirSync(__dirname).filter((file) => file.startsWith('csi-'))) {
  const stem = join(name, 'usr/lib/csi-sidecars', name)
  const args = [...FLAGS, 'make-code-cache.cjs', `${stem}.cjs`, `${stem}.cache`]
  // The environment is fixed, because another environment would change the bytes of the caches.
  execFileSync(process.execPath, args, { cwd: __dirname, env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
}
