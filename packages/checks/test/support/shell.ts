import { execFile } from "node:child_process"

/** What a command printed; an error with all of it if the command fails. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {}
): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(command, args, { maxBuffer: 2 ** 26, ...options }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command} ${args.join(" ")}: ${error.message}\n${stdout}${stderr}`))
    })
  })
