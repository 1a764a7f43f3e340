#!/usr/bin/env node
// The program that npx runs with the user's Node.js. If that Node.js is too old, npm downloads a newer one.
'use strict'
const { spawn, spawnSync } = require('node:child_process')
const { constants } = require('node:os')
const { join } = require('node:path')
const { name, oldestNode, nodePackages } = require('./package.json')

const MAIN = join(__dirname, 'main.mjs')

if (Number.parseInt(process.versions.node, 10) >= oldestNode) void import(MAIN)
else {
  const needs = `${name} needs Node.js ${oldestNode} or newer, and this is ${process.version}`
  const node = fetchNode(needs)
  if (node === undefined) {
    process.stderr.write(`${needs}\n`)
    process.exitCode = 2
  } else runWith(node)
}

/** Returns the path of a new enough Node.js, which npm downloads into its cache. */
function fetchNode(needs) {
  const wanted = nodePackages[`${process.platform}-${process.arch}`]
  if (wanted === undefined) return undefined
  process.stderr.write(`${needs}: npm fetches ${wanted}\n`)
  const args = ['exec', '--yes', '--silent', `--package=${wanted}`, '--call=node --print process.execPath']
  const { status, stdout } = spawnSync('npm', args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function runWith(node) {
  const child = spawn(node, [MAIN, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal. Other signals reach only this process, which forwards them.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}
