import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";

const BUILT = "../src/memstrata/server/static";

/** Writes down what was built, so that a test can tell a build that is older than its sources. */
function sources(): Plugin {
  return {
    name: "sources",
    closeBundle() {
      const digest = createHash("sha256");
      const files = readdirSync("src", { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map((each) => join(each.parentPath, each.name).replaceAll("\\", "/"));
      for (const name of [...files, "index.html", "package.json", "vite.config.ts"].sort()) {
        digest.update(`${name}\0`).update(readFileSync(name)).update("\0");
      }
      writeFileSync(join(BUILT, "sources.sha256"), `${digest.digest("hex")}\n`);
    },
  };
}

// The built page is part of the Python package: `memstrata serve` hands it out under /console/.
export default defineConfig({
  base: "/console/",
  plugins: [preact(), sources()],
  worker: { format: "es" },
  build: {
    outDir: BUILT,
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy of the page allows no data: scripts
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8321" } },
});
