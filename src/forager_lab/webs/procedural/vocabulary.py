"""The words of the procedural web: tables of words, no code.

Each topic has words of its own besides those of the topics above it. All are nouns that read well after "the"; an
underscore joins the words of a phrase. Some words stand under several topics on purpose (pitch, crust, scale, draft,
strings), so that a critic that knows single words is good, but not perfect.
"""


def split(text: str, mark: str = " ") -> tuple[str, ...]:
    return tuple(text.split(mark))


# the words of each topic, without those of the topics above it
TOPIC_WORDS = {
    "Science": "hypothesis laboratory researchers experiment observation theory measurement specimen evidence survey",
    "Science.Biology": "species habitat organism population evolution ecology anatomy field_guide predator offspring",
    "Science.Biology.Birds": "feathers plumage nest migration warbler heron owl wingspan birdsong eggs beak flock "
    "breeding_season raptor finch perch binoculars roost nestlings flyway",
    "Science.Biology.Insects": "beetle antennae larva pupa ant_colony honeybee hive wasp butterfly moth mandibles "
    "swarm thorax pollination dragonfly cricket compound_eyes cocoon eggs termite",
    "Science.Biology.Genetics": "genome chromosome gene mutation heredity allele sequencing double_helix inheritance "
    "mutant fruit_fly hybrid phenotype nucleotide crossing breeding_line cloning pedigree markers",
    "Science.Astronomy": "sky astronomers orbit light_years observatory star brightness spectrum gravity constellation",
    "Science.Astronomy.Planets": "moons atmosphere rings crater orbiter gas_giant crust solar_system rover surface "
    "eclipse transit tilt comet asteroid_belt lander dust_storm ice_cap rotation",
    "Science.Astronomy.Galaxies": "spiral_arms nebula dark_matter redshift halo star_cluster black_hole supernova "
    "expansion dust_lane bulge quasar merger void rotation_curve disc filament",
    "Science.Astronomy.Telescopes": "mirror lens aperture eyepiece mount focal_length dome reflector refractor "
    "magnification detector tripod tracking finder filter optics dish alignment glass",
    "Science.Chemistry": "molecule reaction solvent compound bond solution atoms flask acid temperature",
    "Science.Chemistry.Polymers": "chain monomer plastic resin nylon rubber cross_links fibre film melting_point "
    "moulding polyester elasticity foam coating adhesive strands additive recycling",
    "Science.Chemistry.Catalysis": "catalyst enzyme platinum activation_energy zeolite surface reactor yield turnover "
    "selectivity poisoning hydrogen ammonia substrate active_site kinetics pellets conversion",
    "Science.Chemistry.Crystals": "lattice unit_cell symmetry diffraction quartz salt facet growth cleavage defects "
    "powder mineral axis seed_crystal x_rays ice hardness cooling transparency",
    "Science.Earth": "rock sediment climate surface geologists erosion map crust layer valley",
    "Science.Earth.Volcanoes": "eruption lava magma ash crater caldera vent basalt tremor plume cone hot_spring "
    "pumice evacuation gas fissure dome lava_flow hazard_map",
    "Science.Earth.Glaciers": "ice_sheet crevasse moraine snowfall meltwater ice_core retreat fjord icefall ice_age "
    "drift tongue firn calving valley_floor striations thaw shelf",
    "Science.Earth.Weather": "storm pressure rainfall forecast humidity front thunder wind barometer cloud drought "
    "lightning frost fog cyclone radar snowfall gale sunshine",
    "Sports": "season team coach training championship record athletes supporters competition medal",
    "Sports.Cycling": "bicycle rider saddle wheel pedals helmet gears road handlebar climb",
    "Sports.Cycling.Racing": "peloton sprint stage breakaway yellow_jersey time_trial velodrome finish_line attack "
    "descent team_car drafting classics podium criterium lap domestique cobbles",
    "Sports.Cycling.Touring": "panniers campsite route tent map dynamo ferry guest_house mileage headwind "
    "border_crossing stove luggage_rack puncture detour hostel countryside signpost companion",
    "Sports.Cycling.Mechanics": "chain derailleur spokes brake_pads bearings hub cable tyre frame crankset torque "
    "grease workshop rim axle sprocket wrench inner_tube truing_stand",
    "Sports.Football": "club goalkeeper striker match goal referee pitch fixture defender ball",
    "Sports.Football.Leagues": "promotion relegation table cup_final season_opener transfer points derby fixture_list "
    "division draw title_race away_win kick_off licence trophy newcomers broadcast",
    "Sports.Football.Tactics": "formation pressing midfield back_line counter_attack set_piece offside_trap wing "
    "sweeper marking overlap possession playmaker diamond through_ball corner shape drills",
    "Sports.Football.Stadiums": "terrace stand floodlights turnstile capacity turf roof dressing_room scoreboard "
    "renovation seats tunnel crowd fence main_entrance lease hospitality_box parking",
    "Sports.Water": "boat river crew lake current regatta club_house shore lane coxswain",
    "Sports.Water.Rowing": "oar stroke sculls eight rigger boathouse catch blade ergometer sliding_seat bow slipway "
    "cadence head_race towpath pair sweep erg_score launch",
    "Sports.Water.Sailing": "mast hull rudder keel spinnaker wind tack harbour anchor jib regatta_course sheet buoy "
    "helmsman knots deck yacht rigging tide",
    "Sports.Water.Swimming": "pool freestyle breaststroke backstroke butterfly goggles turn lifeguard relay dive "
    "kick_board chlorine tumble_turn length medley breathing open_water cap starting_block",
    "Sports.Climbing": "rock route grip rope ascent summit partner ledge fall chalk",
    "Sports.Climbing.Bouldering": "boulder crash_pad overhang sloper crimp problem dyno spotter climbing_gym grade "
    "sandstone sit_start heel_hook top_out mantle circuit tape volume wall",
    "Sports.Climbing.Mountaineering": "base_camp expedition glacier altitude avalanche ridge ice_axe crampons sherpa "
    "bivouac oxygen frostbite col crevasse north_face weather_window snowfield cornice acclimatisation",
    "Sports.Climbing.Equipment": "carabiner harness belay_device quickdraw cam helmet sling nylon webbing bolts shoes "
    "rubber buckle knot gear_rack anchor pulley breaking_strength inspection",
    "Arts": "artist exhibition style audience performance critics tradition composition gallery masterpiece",
    "Arts.Music": "melody rhythm harmony song musicians instrument concert recording chord scale",
    "Arts.Music.Jazz": "saxophone improvisation swing trumpet bebop double_bass solo quartet blues trombone club "
    "drummer standards jam_session big_band brushes riff ballad syncopation",
    "Arts.Music.Opera": "soprano aria libretto tenor orchestra overture chorus baritone recitative prima_donna "
    "conductor act opera_house mezzo surtitles curtain duet score pit",
    "Arts.Music.Folk": "fiddle banjo ballad accordion village_dance bagpipes lyrics strings tune singer mandolin reel "
    "broadside harvest_song pub festival hurdy_gurdy collector verse",
    "Arts.Painting": "canvas brush pigment colour studio painter landscape sketch light museum",
    "Arts.Painting.Watercolour": "wash paper sable_brush sponge glaze wet_on_wet palette granulation sky blotting "
    "masking_fluid gum travel_sketchbook transparency stretching tube pan bloom edges",
    "Arts.Painting.Portraits": "sitter likeness face pose self_portrait commission miniature gaze hands costume "
    "royal_family oval_frame flesh_tones profile bust expression patron shadow background",
    "Arts.Painting.Frescoes": "plaster chapel ceiling wall lime mural restoration saint apprentice dome scaffold "
    "vault day_section apse grotesque earth_colours damp cartoon sinopia",
    "Arts.Theatre": "stage actor rehearsal scene curtain playwright director costume applause company",
    "Arts.Theatre.Drama": "tragedy comedy monologue dialogue hero script chorus conflict soliloquy act villain "
    "opening_night prologue character revival plot irony verse ensemble",
    "Arts.Theatre.Puppetry": "marionette strings glove shadow_theatre puppeteer booth wood_carving rod hinge "
    "ventriloquist dummy papier_mache screen fairground control_bar head joints mask children",
    "Arts.Theatre.Stagecraft": "lighting_rig scenery backdrop trapdoor props fly_loft dimmer sound_desk wings "
    "spotlight set_design flats cue stage_manager winch gel workshop prompt_book paint",
    "Arts.Literature": "author reader chapter narrator publisher manuscript translation essay library prose",
    "Arts.Literature.Poetry": "sonnet stanza rhyme metre verse poet imagery couplet haiku anthology line_break ode "
    "elegy refrain free_verse recital ballad metaphor iamb",
    "Arts.Literature.Novels": "plot protagonist first_edition dialogue serial suspense fiction detective paperback "
    "draft sequel setting romance unreliable_narrator villain bestseller episode ending draft",
    "Arts.Literature.Mythology": "gods legend hero underworld oracle serpent creation_story epic titan sacrifice "
    "trickster thunder flood immortality dragon quest prophecy ritual giants",
    "Home": "kitchen family weekend house neighbours tips household hands season shed",
    "Home.Cooking": "recipe oven flavour ingredients pan spoon dish heat salt supper",
    "Home.Cooking.Bread": "dough flour yeast sourdough crust loaf kneading starter proving rye bakery crumb gluten "
    "baguette scoring baking_stone banneton hydration wholemeal",
    "Home.Cooking.Soups": "broth stock ladle lentils onion simmering bouillon noodles vegetables croutons chowder "
    "bones bay_leaf celery puree tureen garnish bowl ginger",
    "Home.Cooking.Preserves": "jam jar sugar pectin pickle vinegar marmalade chutney brine setting_point berries "
    "label sterilising lid cellar fermentation quince cabbage wax",
    "Home.Gardening": "soil compost garden plant roots pruning leaves spring watering bed",
    "Home.Gardening.Roses": "petals thorns climber rambler bloom scent black_spot rootstock hybrid_tea bud trellis "
    "rose_hip dead_heading mildew arch bouquet greenfly nursery cuttings",
    "Home.Gardening.Vegetables": "carrot cabbage seedlings greenhouse tomato beans harvest slugs rotation allotment "
    "potato marrow drill cold_frame mulch leek lettuce hoe pumpkin",
    "Home.Gardening.Orchards": "apple pear blossom grafting cider rootstock ladder plum windfall canker picker "
    "espalier bees late_frost cherry variety quince press hedge",
    "Home.Crafts": "pattern workshop tool material handmade beginner glue project bench kit",
    "Home.Crafts.Knitting": "yarn needles stitch wool purl gauge sweater cable sock shawl skein cast_on ribbing "
    "sleeve row bobbin mittens lace moth",
    "Home.Crafts.Woodwork": "chisel plane oak dovetail saw timber varnish joint lathe grain mallet clamp plywood "
    "mortise sandpaper bench_hook walnut veneer sawdust",
    "Home.Crafts.Pottery": "clay kiln glaze wheel stoneware bowl firing slip porcelain teapot handle earthenware coil "
    "biscuit_ware rim cone potter ash crackle",
    "Home.Pets": "owner vet breed food collar animal shelter tail behaviour feeding",
    "Home.Pets.Dogs": "puppy leash terrier kennel bark obedience walk spaniel retriever muzzle sheepdog bone dog_show "
    "whistle scent fetch pack crate hound",
    "Home.Pets.Cats": "kitten whiskers litter_tray claws purr tabby scratching_post siamese cat_flap fur tomcat mouse "
    "paws hairball stray windowsill catnip nap curiosity",
    "Home.Pets.Aquariums": "tank filter guppy algae gravel tropical_fish water_change heater coral snail shoal "
    "cichlid fins plants lid pump salinity nitrate light",
    "Health": "patients doctor study risk advice symptoms clinic body care evidence",
    "Health.Medicine": "hospital treatment diagnosis disease nurse therapy dose trial infection ward",
    "Health.Medicine.Cardiology": "heart artery blood_pressure valve pulse pacemaker stent chest_pain cholesterol "
    "rhythm stroke ventricle echocardiogram aorta heart_failure beat clot stress_test angina",
    "Health.Medicine.Vaccines": "immunity antibody booster outbreak measles injection virus polio herd_immunity "
    "syringe schedule adjuvant influenza strain cold_chain side_effects shot campaign smallpox",
    "Health.Medicine.Surgery": "scalpel anaesthesia incision operating_theatre suture surgeon transplant wound "
    "recovery_room keyhole scar implant drain forceps swab bleeding consent stitch mask",
    "Health.Nutrition": "food meal calories protein diet label intake kitchen sugar portion",
    "Health.Nutrition.Vitamins": "supplement deficiency citrus scurvy sunlight tablet folate iron liver vitamin_d "
    "leafy_greens toxicity absorption rickets zinc fish_oil multivitamin minerals antioxidant",
    "Health.Nutrition.Diets": "fasting weight carbohydrates vegetarian fibre snack craving waistline low_fat ketosis "
    "plant_based appetite breakfast scales binge meal_plan vegan metabolism legumes",
    "Health.Nutrition.Allergies": "pollen peanut rash antihistamine hay_fever asthma trigger gluten lactose skin_test "
    "swelling dust_mite sneezing shellfish eczema epinephrine hives intolerance season",
    "Health.Fitness": "exercise muscle workout stamina trainer stretching pulse injury warm_up goal",
    "Health.Fitness.Running": "marathon pace shoes stride mile knee trail jog finish_line interval half_marathon "
    "cadence blister shin heel track negative_split hydration recovery_run",
    "Health.Fitness.Yoga": "pose breathing mat balance meditation sun_salutation spine flexibility studio lotus "
    "stillness hips teacher chakra inversion relaxation sequence headstand mantra",
    "Health.Fitness.Strength": "barbell squat deadlift dumbbell repetition bench_press plates grip gym power_rack set "
    "overload kettlebell biceps spotter protein_shake core pull_up chalk",
    "Health.Mind": "brain mood psychologist stress habit attention emotion diary counselling wellbeing",
    "Health.Mind.Sleep": "dream insomnia pillow snoring melatonin nap body_clock mattress bedtime night_shift "
    "drowsiness rem_phase alarm caffeine jet_lag apnoea darkness yawning lark",
    "Health.Mind.Memory": "recall forgetting hippocampus mnemonic flash_cards childhood amnesia cue rehearsal name "
    "spaced_repetition encoding face ageing retrieval list trace witness palace",
    "Health.Mind.Anxiety": "panic worry phobia breathing fear exposure avoidance racing_heart trigger calm shyness "
    "cognitive_therapy tension reassurance rumination spider public_speaking trembling relief",
    "Society": "people government century community institution rights debate public tradition citizens",
    "Society.History": "empire archive war historian ruins king chronicle trade_route museum settlement",
    "Society.History.Romans": "legion emperor forum aqueduct senate villa gladiator mosaic centurion hypocaust latin "
    "inscription consul road republic toga provinces amphitheatre fort",
    "Society.History.Vikings": "longship runes raid fjord shield saga burial_mound hoard chieftain jarl axe monastery "
    "thing norsemen trading_post keel brooch mead rune_stone",
    "Society.History.Railways": "locomotive track station steam signal_box carriage gauge engine viaduct timetable "
    "navvies branch_line boiler platform freight sleeper tunnel driver coal",
    "Society.Law": "judge clause statute lawyer case ruling party liability act precedent",
    "Society.Law.Contracts": "offer acceptance breach consideration damages remedy signature warranty "
    "misrepresentation obligation terms force_majeure seller agreement notice void penalty drafting lease",
    "Society.Law.Copyright": "licence infringement fair_use royalties public_domain author reproduction piracy patent "
    "trademark moral_rights sampling registration term derivative_work photocopy collecting_society heirs",
    "Society.Law.Courts": "jury witness verdict appeal trial bench testimony bail prosecutor cross_examination "
    "hearing dock acquittal sentence clerk courtroom evidence oath wig",
    "Society.Religion": "prayer church faith priest ritual saint temple feast belief pilgrims",
    "Society.Religion.Monasteries": "monk abbey cloister vow abbot silence refectory manuscript herb_garden novice "
    "nun bell hermit rule scriptorium cell brewery hymn habit",
    "Society.Religion.Pilgrimage": "shrine route relic hostel blessing cathedral walking_staff miracle scallop_shell "
    "journey holy_well procession indulgence blister crossing vigil stamp companion waymark",
    "Society.Religion.Scripture": "verse gospel psalm prophet scroll commentary canon parable testament hebrew "
    "translation covenant epistle exegesis scribe revelation codex parchment chapter",
    "Society.Politics": "minister party policy vote reform campaign speech opposition coalition power",
    "Society.Politics.Elections": "ballot turnout polling_station candidate constituency swing recount exit_poll "
    "manifesto majority canvassing voter primary landslide runoff proportional_representation seat leaflet count",
    "Society.Politics.Parliaments": "bill committee speaker upper_house amendment session motion deputies filibuster "
    "chamber second_reading mace whip question_time quorum bench budget lobby veto",
    "Society.Politics.Diplomacy": "embassy treaty ambassador summit sanctions negotiation ceasefire protocol envoy "
    "alliance consul border accord mediation state_visit communique neutral_ground hostage dispatch",
    "Computing": "software computer code system users version manual engineers performance standard",
    "Computing.Programming": "function variable library source_code bug language type algorithm developer repository",
    "Computing.Programming.Compilers": "parser token grammar optimiser register intermediate_code back_end linker "
    "syntax_tree inlining loop garbage_collector lexer bytecode inference calling_convention stack macro target",
    "Computing.Programming.Databases": "query index transaction table schema join replication column lock row backup "
    "primary_key log cache isolation view storage_engine shard cursor",
    "Computing.Programming.Testing": "unit_test coverage fixture assertion mock regression test_suite flaky_test "
    "build continuous_integration failure fuzzing property harness stub report refactoring edge_case runner",
    "Computing.Networks": "server packet protocol address cable traffic port connection bandwidth client",
    "Computing.Networks.Routing": "router hop gateway path prefix autonomous_system peering latency subnet congestion "
    "forwarding link_state topology backbone black_hole exchange loop metric failover",
    "Computing.Networks.Security": "firewall encryption password attack certificate key phishing malware exploit "
    "vulnerability signature audit intrusion hash patch handshake token leak honeypot",
    "Computing.Networks.Wireless": "antenna signal spectrum access_point interference roaming frequency mesh "
    "base_station channel range beacon modulation handset repeater noise_floor wifi beam tower",
    "Computing.Graphics": "image pixel screen colour layout vector design display file texture",
    "Computing.Graphics.Rendering": "ray_tracing shader polygon lighting shadow camera mesh rasteriser reflection "
    "depth sampling scene frame noise global_illumination triangle lens path material",
    "Computing.Graphics.Typography": "typeface serif kerning font ligature baseline glyph italic hinting bold_weight "
    "letter leading small_caps paragraph margin punch specimen ink legibility",
    "Computing.Graphics.Animation": "keyframe rig storyboard character frame_rate motion_capture timing walk_cycle "
    "tweening puppet skeleton easing stop_motion cel squash bone expression physics timeline",
    "Computing.Hardware": "chip circuit device board power sensor voltage supplier firmware cooling",
    "Computing.Hardware.Processors": "core cache pipeline transistor instruction_set clock register branch_prediction "
    "die benchmark overclocking socket fan lithography thread wafer heat_sink bus microcode",
    "Computing.Hardware.Storage": "disk flash_memory sector backup controller tape array latency cell wear_levelling "
    "head platter file_system bit_rot partition enclosure throughput rack parity",
    "Computing.Hardware.Robotics": "actuator gripper joint motor arm servo navigation torque drone wheel "
    "feedback_loop localisation gear kinematics lidar battery obstacle leg swarm",
    "Business": "company customer price contract report manager employees growth demand cost",
    "Business.Finance": "money interest bank account capital fund loan rate balance debt",
    "Business.Finance.Banking": "deposit branch mortgage credit_card vault teller overdraft liquidity central_bank "
    "reserve cheque clearing savings bail_out lender transfer default regulation cash_machine",
    "Business.Finance.Insurance": "premium policy claim underwriter actuary coverage flood accident broker excess "
    "reinsurance fire life_table loss fraud pension damage renewal liability_cover",
    "Business.Finance.Investing": "shares dividend portfolio stock_exchange bond index_fund volatility broker yield "
    "bull_market diversification hedge ticker bubble analyst annual_report retirement valuation spread",
    "Business.Trade": "goods export import port merchant tariff route warehouse agreement cargo",
    "Business.Trade.Shipping": "container freighter dock crane tonnage captain canal hull ballast freight berth "
    "charter_party tug bill_of_lading tanker manifest shipyard lighthouse pilot",
    "Business.Trade.Markets": "stall auction bidder vendor supply bargain bazaar wholesaler commodity square "
    "price_signal haggling scales cartel monopoly fish_market licence crowd futures",
    "Business.Trade.Customs": "duty inspection declaration border smuggling quota excise broker seizure form "
    "free_port origin_rules stamp officer penalty classification embargo bonded_store passport",
    "Business.Farming": "farm field tractor crop harvest soil farmer barn yield rainfall",
    "Business.Farming.Dairy": "milk cow cheese pasture milking_parlour butter herd calf silage cream udder churn whey "
    "hay rennet yoghurt bull mastitis creamery",
    "Business.Farming.Cereals": "wheat barley combine_harvester oats grain_silo straw rye threshing mill fertiliser "
    "seed rust fallow maize bushel plough ear drought flour",
    "Business.Farming.Vineyards": "grape vine wine cellar vintage harvest_crew terroir cork barrel pruning tannin "
    "press fermentation slope rootstock bottle appellation tasting mildew",
    "Business.Industry": "factory machine workers production plant output shift raw_material union furnace",
    "Business.Industry.Steel": "blast_furnace iron_ore ingot rolling_mill alloy slag coke scrap casting girder rust "
    "converter ladle smelter forge sheet rivets hardness tempering",
    "Business.Industry.Textiles": "loom cotton weaving spindle cloth dye thread mill linen silk shuttle yarn weft "
    "warp garment spinning_jenny felt pattern bobbin",
    "Business.Industry.Energy": "turbine grid coal solar_panel generator wind_farm reactor battery pipeline dam "
    "kilowatt transformer gas oil substation peak_load hydrogen emissions blackout",
}

GENERAL = split(
    "question answer example story letter reason result change idea beginning end number size side place part moment "
    "year week morning evening visit method list page picture collection group member work detail account note problem "
    "choice difference difficulty advantage habit opinion memory plan guide rule source subject matter practice lesson "
    "discussion interest success mistake effort journey arrival meeting attempt description comparison summary visitor "
    "friend teacher student expert crowd volunteer beginner pocket window corner table door bridge town village city "
    "hill street shop garden box basket book card photograph poster handbook leaflet notebook timetable budget "
    "deadline "
    "winter summer autumn century decade occasion review update issue archive edition feature topic comment"
)

ADJECTIVES = split(
    "old new small large early late common rare simple careful quiet famous local foreign useful strange patient "
    "ordinary recent modest remarkable familiar practical broken heavy light complete narrow curious reliable typical "
    "older finest missing second third favourite unusual regional seasonal experimental forgotten popular"
)

OPENERS = split(
    "In time,|By then|For many readers|As a rule|In most years|At first|Later on|According to some|To our surprise,|"
    "After the war|Every so often|In practice|On closer look|Over the years|Without doubt|In the end|Before long,|"
    "Not far from here|As everybody knows,|In smaller towns|For a beginner|In this account|Last autumn|Once more|"
    "Under such conditions|Outside the city|In the second part|At the same time|More than once|Compared with that,",
    "|",
)

# past tense and modals only: they agree with any noun, singular or plural
VERBS = split(
    "depended on|led to|soon gave way to|took the place of|could explain|had little to do with|came before|"
    "helped to understand|must not be confused with|appeared together with|brought back|made use of|"
    "stood beside|changed the way people saw|would be unthinkable without|owed much to|competed with|"
    "gave a new meaning to|became part of|went hand in hand with|drew attention to|kept apart from|"
    "might replace|improved with|suffered from|disappeared behind|grew out of|answered to|ended with|"
    "shaped|needed|preceded|caused trouble for|turned against|revolved around|did not exclude|"
    "remained more important than|earned praise for|took its name from|turned into",
    "|",
)

TAILS = split(
    ".|.|.|.|.|.| every year.| in the north.| as the pictures show.| for good.| without any warning.| with great care.|"
    " in several places.| after a while.| against all advice.| near the coast.| long before that.| in our experience.|"
    " to this day.| whenever there was time.| on both sides.| again and again.| by a small margin.| in equal measure.|"
    " if the notes are right.| and nobody minded.| at the usual place.| for the first time.",
    "|",
)

LURES = split(
    "Win a holiday|Best offers today|You will not believe this|Lose weight fast|Cheap flights|Free samples|"
    "Hot deals|Meet people near you|Save up to 70 percent|Top ten secrets|Play now|New cars from 99|Join free|"
    "Doctors are amazed|Limited offer|Earn from home|Credit in minutes|The one trick",
    "|",
)

USELESS = split("click here|more|next|here|read on|link|this page|continue|details|go|full text|see this", "|")
LEADS = split(
    "See also|Compare|More in|A longer account is|It began with|Some prefer|This goes back to|The details are in|"
    "Readers liked|We wrote about it in|A different view is|Worth a look:",
    "|",
)
DEPARTMENT = split(
    "department faculty staff lecture semester seminar students syllabus office_hours reading_list course tutor degree "
    "examination campus professor enrolment coursework assignment curriculum lecturer programme term thesis"
)
STAFF = split("adams baker carter dawson ellis foster grant hughes irwin jensen keller larsen meyer novak olsen parker")
OFFICE = (
    "visitors privacy cookies opening_hours telephone address newsletter membership editors terms_of_use "
    "password account "
    "agreement subscription office postage imprint webmaster feedback form"
)

HOST_FIRST = split(
    "oak river stone north green silver hill lake east west ash moor mill bridge wood fair bright summer winter king "
    "queen clear long high low red white black old new"
)
HOST_SECOND = split(
    "field bank ford gate house view land wick mere dale brook haven crest point cross side well stead worth court end "
    "path port ridge way yard pond burn cliff grove"
)
SITE_KINDS = split(
    "almanac journal notes archive society club guide weekly online corner review library forum house press world "
    "friends page lore desk room digest letters compass index circle annals basket bulletin yard"
)
SUBDOMAINS = split("blog wiki old shop en library students forum")
DIRECTORIES = split("features notes reviews reports columns stories guides letters essays miscellany briefs answers")
